"""Word lists for reading names and statements, in a handful of languages."""

from collections.abc import Mapping

from lamina.graph.types import Predicate


def words(text: str) -> frozenset[str]:
    """The words of a list."""
    return frozenset(text.split())


STOP_WORDS = words("""
    a an the this that these those my your his her its our their some any each every both all no other another such
    i you he she it we they me him us them mine yours ours theirs myself itself himself herself themselves one ones
    and or but nor so yet if then else than as at by for from in into of off on onto out over to up with without about
    after before between during under until since while because although though whereas whether when where why how
    what which who whom whose is are was were be been being am do does did done has have had having will would shall
    should can could may might must not never also too very just only even still already always often here there now
    today yesterday tomorrow please thanks thank hello hi hey yes ok okay sure well maybe perhaps however therefore
    meanwhile finally first second third next last once again later soon recently currently usually actually
    der die das den dem des ein eine einen einem einer eines mein meine meinen meiner dein deine sein seine ihr ihre
    unser unsere euer ich du er sie es wir mich dich ihn uns ihnen und oder aber denn weil dass wenn als ob wie was
    wer wo warum mit ohne von vom zu zum zur bei beim aus nach vor auf an am im in über unter für gegen durch um ist
    sind war waren wird werden hat haben hatte kann nicht kein keine auch noch nur sehr schon immer hier dort heute
    le la les l un une des du de d mon ma mes ton ta tes son sa ses notre nos votre vos leur leurs je tu il elle on
    nous vous ils elles et ou mais donc car que qui quoi dont où quand comme si dans sur sous avec sans pour par en
    est sont était ne pas plus aussi très ce cet cette ces
    el los las lo un una unos unas mi mis tu tus su sus nuestro nuestra yo él ella nosotros ellos ellas y o pero
    porque que quien cuando donde como si con sin para por en de del al es son era no también muy este esta estos
    o os as um uma uns umas meu minha eu ele ela nós eles elas e mas ou que quem quando onde como se com sem para por
    em do da dos das no na é são não também muito
    il lo gli i uno mio mia io lui lei noi loro ed ma che chi dove di del della con senza per su è sono non anche
    het een de mijn jouw zijn haar ons onze ik jij hij zij wij en of maar want dat die wat wie waar met zonder voor
    van naar op aan bij uit niet ook
    monday tuesday wednesday thursday friday saturday sunday january february march april may june july august
    september october november december montag dienstag mittwoch donnerstag freitag samstag sonntag januar februar
    märz mai juni juli oktober dezember dr mr mrs ms prof herr frau monsieur madame mme señor señora
    """)
"""Words that hold a sentence together, weekdays and months: never a name by themselves."""

STARTERS = words("""
    add adding allow ask avoid be build building call change check clean click close commit configure consider copy
    create creating cut define delete deploy deploying describe do done don't drop edit enable ensure error every
    everyone everything example execute explain fail failed feel find fix fixed follow get give go great good got
    handle help ignore import important include install installing keep learn leave let let's like list look looks
    make makes making many mark merge most move much name need needs new nice nobody none note nothing old open our
    people place prefer prefers push put reach read really remember remind remove rename replace report request reset
    restart return review run running save say see seems select send set setting several show simply skip somebody
    someone something sometimes sorry sort start starting stop store submit switch take tell test testing things think
    thought try trying turn type unless update updating upgrade use used uses using verify view wait want wanted wants
    warning watch whatever whenever wherever whoever work working works write wrong
    wow yeah yep yup nope ah aw aww oh ooh haha hah lol omg wow glad congrats congratulations cool awesome amazing
    awful beautiful fun funny happy sad perfect true definitely absolutely totally sounds sound best better bye cheers
    dear plus guess hope hoping love miss wish wondering having seeing being reading agreed exactly right gotta gonna
    wanna luckily honestly speaking kids kid friends family mom dad everybody anyway anyways btw fyi re ps tbh
    according additionally almost along anybody anyone anything apparently apart around based basically besides
    certainly clearly despite either especially eventually everywhere exactly except fortunately further furthermore
    generally hence hopefully immediately indeed initially instead interestingly largely lately likewise mainly
    moreover mostly namely nearly neither nevertheless normally obviously originally otherwise overall possibly
    previously probably quickly rather regarding rest same similarly simple slowly somewhere specifically strongly
    suddenly surely technically thus together total typically ultimately unfortunately unlike usually via
    loves likes enjoys hates dislikes lives owns drinks eats speaks plays knows has got asked said told wrote met went
    came moved joined bought sold built started finished visited called sent received opened closed reported
    """)
"""Words that begin a sentence with a capital letter and are no names."""

KNOWN_TOOLS = words("""
    ansible airflow angular ansible apache argo bash bazel cassandra celery clickhouse consul cuda debian django docker
    duckdb elasticsearch emacs envoy etcd express fastapi fastify firebase flask flutter git github gitlab grafana
    graphql gradle grpc hadoop haskell helm heroku istio java javascript jenkins jira jupyter kafka keras kotlin
    kubernetes kubectl kustomize langchain laravel linux llama lua mariadb maven memcached mongodb mongo mypy mysql
    neo4j neovim nextjs nginx nodejs npm numpy ollama openai oracle pandas perl php pip pnpm podman postgres postgresql
    prometheus pulumi pydantic pytest python pytorch rabbitmq rails react redis redux ruby ruff rust sass scala sentry
    snowflake solr spark splunk spring sqlalchemy sqlite supabase svelte swift tailwind tensorflow terraform traefik
    typescript ubuntu uvicorn vagrant vault vercel vim vite vscode vue webpack windows yarn zookeeper zsh
    """)
"""Tools that people write in lower case."""

PARTICLES = words("of the de del della der den di da do dos du la le van von bin ibn al el y zu")
"""What may stand between two capitalised words of one name."""

_PHRASES: Mapping[tuple[Predicate, bool], str] = {
    (
        Predicate.DEPENDS_ON,
        False,
    ): """depends on|depend on|depended on|relies on|rely on|requires|require|is built on top of
        |is built on|is based on|are based on|hängt ab von|hängt von|benötigt|braucht|basiert auf|dépend de|dépend du
        |nécessite|depende de|depende del|requiere|necesita|dipende da|richiede|hangt af van|vereist""",
    (
        Predicate.USES,
        False,
    ): """uses|use|used|is using|are using|runs on|run on|is written in|are written in|is powered by
        |is built with|is implemented in|connects to|connect to|verwendet|verwenden|nutzt|nutzen|benutzt|läuft auf
        |utilise|utilisent|utilisons|tourne sur|usa|usan|usamos|utiliza|utilizamos|utilizza|gebruikt|gebruiken""",
    (
        Predicate.WORKS_AT,
        False,
    ): """works at|work at|worked at|works for|work for|worked for|is working at|is working for
        |is employed at|is employed by|am employed at|is employed with|joined|arbeitet bei|arbeite bei|arbeitet für
        |travaille chez|travaille pour|trabaja en|trabajo en|trabaja para|trabalha na|trabalha no|trabalha em
        |lavora da|lavora per|lavoro per|werkt bij""",
    (
        Predicate.WORKS_ON,
        False,
    ): """works on|work on|worked on|is working on|are working on|am working on|maintains|maintain
        |is responsible for|are responsible for|contributes to|arbeitet an|arbeite an|travaille sur|trabaja con
        |lavora su|werkt aan""",
    (Predicate.WORKS_WITH, False): """works with|work with|worked with|collaborates with|is working with|pairs with
        |arbeitet mit|travaille avec|werkt met""",
    (
        Predicate.MANAGES,
        False,
    ): """manages|manage|managed|leads|lead|led|supervises|is the manager of|is the boss of|heads
        |leitet|führt|dirige|gère|gestiona|lidera|gestisce|leidt""",
    (Predicate.MANAGES, True): "reports to|report to|is managed by|is led by|berichtet an",
    (
        Predicate.LIVES_IN,
        False,
    ): """lives in|live in|lived in|resides in|is living in|moved to|relocated to|wohnt in|wohne in
        |lebt in|lebe in|habite à|habite en|habite au|vit à|vive en|vivo en|mora em|vive in|vivo in|abita a|woont in""",
    (Predicate.LOCATED_IN, False): """is located in|are located in|is hosted on|is hosted in|is hosted at|is based in
        |are based in|is situated in|lives at|befindet sich in|liegt in|se trouve à|está en|se encuentra en""",
    (
        Predicate.PREFERS,
        False,
    ): """prefers|prefer|preferred|likes|like|loves|love|enjoys|enjoy|favors|favours|is a fan of
        |am a fan of|is fond of|bevorzugt|bevorzuge|mag|liebt|liebe|préfère|aime|adore|prefiere|prefiero|le gusta
        |me gusta|prefere|prefiro|gosta de|preferisce|preferisco|houdt van|houd van""",
    (
        Predicate.DISLIKES,
        False,
    ): """dislikes|dislike|hates|hate|doesn't like|don't like|does not like|do not like|can't stand
        |cannot stand|is allergic to|am allergic to|detests|hasst|hasse|mag kein|mag keine|mag keinen|déteste
        |n'aime pas|odia|odio|no le gusta|no me gusta""",
    (Predicate.OWNS, False): "owns|own|owned|besitzt|possède|posee|possiede",
    (Predicate.HAS, False): "has|have|hat|habe|tiene|tengo|possui",
    (
        Predicate.PART_OF,
        False,
    ): """is part of|are part of|is a part of|belongs to|belong to|is a member of|is in the team
        |gehört zu|ist teil von|fait partie de|fait partie du|es parte de|forma parte de|fa parte di|maakt deel uit van
        |is a module of|is a component of""",
    (
        Predicate.CONTAINS,
        False,
    ): """contains|contain|contained|includes|include|consists of|comprises|enthält|umfasst|contient
        |comprend|contiene|incluye|bevat""",
    (
        Predicate.CREATED,
        False,
    ): """created|wrote|built|developed|founded|designed|authored|invented|co-founded|made|entwickelte
        |gründete|schrieb|a créé|a écrit|a développé|a fondé|creó|escribió|desarrolló|fundó|ha creato""",
    (
        Predicate.CREATED,
        True,
    ): """is created by|was created by|is written by|was written by|is developed by|was developed by
        |was built by|was founded by|was designed by|is maintained by|was made by|wurde entwickelt von
        |wurde gegründet von|wurde erstellt von|a été créé par|a été écrit par|fue creado por|fue escrito por""",
    (
        Predicate.CAUSED_BY,
        False,
    ): """is caused by|was caused by|were caused by|are caused by|is due to|was due to|results from
        |resulted from|wurde verursacht durch|wird verursacht durch|est causé par|es causado por|fue causado por""",
    (
        Predicate.CAUSED_BY,
        True,
    ): "causes|caused|leads to|led to|results in|resulted in|breaks|broke|verursacht|provoque|causa",
    (
        Predicate.RESOLVED_BY,
        False,
    ): """is fixed by|was fixed by|is resolved by|was resolved by|is solved by|was solved by
        |can be fixed by|wurde behoben durch|est résolu par|se resuelve con""",
    (Predicate.RESOLVED_BY, True): "fixes|fixed|resolves|resolved|solves|solved|behebt|corrige|résout|resuelve",
    (
        Predicate.REPLACES,
        False,
    ): "replaces|replaced|supersedes|superseded|ersetzt|remplace|reemplaza|sostituisce|vervangt",
    (Predicate.REPLACES, True): """is replaced by|was replaced by|is superseded by|was superseded by|wurde ersetzt durch
        |a été remplacé par|fue reemplazado por""",
    (Predicate.FOLLOWS, False): "follows|comes after|runs after|folgt auf|suit|sigue a",
    (Predicate.FOLLOWS, True): "precedes|comes before|runs before|is followed by|was followed by",
    (Predicate.SAME_AS, False): """is also known as|also known as|is known as|aka|a.k.a.|is short for|stands for
        |is the same as|is called|am called|is named|goes by|is an alias for|is an alias of|heißt|heiße|ist dasselbe wie
        |s'appelle|m'appelle|se llama|me llamo|si chiama|mi chiamo|chama-se|heet""",
    (
        Predicate.SIMILAR_TO,
        False,
    ): "is similar to|are similar to|resembles|is like|ähnelt|ressemble à|se parece a|lijkt op",
    (Predicate.KNOWS, False): """knows|know|met|is friends with|are friends with|is married to|am married to|is dating
        |is engaged to|kennt|kenne|ist verheiratet mit|est marié à|est mariée à|conoce a|está casado con
        |está casada con""",
    (
        Predicate.IS,
        False,
    ): """is a|is an|is the|is one of|is our|is my|is their|is his|is her|was a|was an|was the|are the|am a
        |am an|am the|is|are|was|were|am|ist ein|ist eine|ist der|ist die|ist das
        |bin ein|bin eine|bin|ist|est un|est une|est le|est la|est l'|suis un|suis une|suis|est|es un|es una|es el|es la
        |soy un|soy una|soy|è un|è una|è il|è la|sono un|sono una|é um|é uma|é o|é a|sou um|sou uma|is een|is de|is het
        |became|becomes|serves as|acts as|works as|arbeitet als|travaille comme|trabaja como|werkt als""",
}

VERBS: Mapping[str, tuple[Predicate, bool]] = {
    phrase.strip(): meaning for meaning, phrases in _PHRASES.items() for phrase in phrases.split("|")
}
"""What a verb says; True when its object is the subject of the relation."""

BARE_COPULAS = words("is are was were am bin ist suis est soy")
"""These say something about a name only when a name follows: `the build is broken` relates nothing."""
