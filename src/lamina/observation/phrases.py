"""Words and phrases by which talk is told from what is worth noting, in a handful of languages.

Everything here is a hint: a text in a language that is not listed is judged by its rare words, names and numbers.
"""

import re
from typing import Final


def phrase_words(text: str) -> frozenset[str]:
    """The words of a list."""
    return frozenset(text.split())


INTERJECTIONS: Final = phrase_words("""
    ah aha alright anyway anyways aw aww awesome btw bye cheers congrats congratulations cool dude exactly fine goodbye
    great haha hah hello hey hi hm hmm huh lol man nah nice nope oh ok okay omg ooh oops phew please plus right so sure
    thanks thank thx totally true ugh uh um well whoa woah woo wow yay yeah yep yes yup absolutely definitely agreed
    amazing perfect sounds good gotcha understood
    hallo danke bitte ja nein genau klar gut super ach na also tschüss moin servus
    salut bonjour bonsoir merci oui non bien voilà bon ah alors
    hola gracias sí si claro vale bueno pues adiós
    ciao grazie sì prego olá obrigado obrigada sim
    """)
"""Words that open or fill a turn and say nothing."""

EMPHASIS: Final = phrase_words("""
    absolutely actually basically definitely honestly incredibly just kinda literally obviously pretty quite really
    seriously simply so sooo super totally truly very
    """)
"""Words that can be left out of an English sentence without changing what it says."""

PRAISE: Final = phrase_words("""
    amazing appreciate appreciated awesome beautiful best bet brave congrats congratulations cool excited exciting fab
    fantastic fun glad good gorgeous grateful great happy impressed impressive incredible inspiring inspired kind lovely
    luck lucky meaningful nice perfect proud rad rewarding sounds special stunning super sweet thankful thanks tough
    wonderful worth wow wild crazy fulfilling important joy proud support supportive keep love
    """)
"""Words of judgement and encouragement: a clause of little else is not worth a note."""

FIRST_PERSON: Final = phrase_words("""
    i i'm i've i'd i'll im my me mine myself we we're we've we'd we'll our ours us ourselves
    ich mein meine meinen meinem meiner meines mir mich wir uns unser unsere unseren unserem unserer
    je j'ai j'aime mon ma mes moi nous notre nos yo mi mis nosotros nuestro nuestra eu meu minha io mio mia
    """)
FIRST_PERSON_SIGNS: Final = re.compile("[我私僕俺]|나는|저는|내가|제가|우리")
SECOND_PERSON: Final = phrase_words("""
    you you're you've you'd you'll your yours yourself du dein deine deinen deinem deiner dich dir ihr euch
    tu toi vous votre vos tú usted ustedes você
    """)
PAST: Final = phrase_words("""
    was were did had been went got made took came saw said told met won bought brought ate ran wrote gave found felt
    left lost began became built chose taught sold sent spent broke fell grew heard kept paid read drove flew rode drew
    led hatte hatten war waren wurde wurden ging kam fue fui fuimos era fueron était étaient avait avais
    """)
"""Forms of the past; regular English ones end in `ed`."""
NUMBERS: Final = phrase_words("""
    two three four five six seven eight nine ten eleven twelve dozen hundred thousand million first second third fourth
    fifth once twice half zwei drei vier fünf sechs sieben acht neun zehn deux trois quatre cinq dos tres cuatro cinco
    """)
NUMBER_SIGNS: Final = re.compile(r"\d|[一二三四五六七八九十百千万萬]")
NAMED: Final = re.compile(
    r"\b(?:called|named|names?|heißt|namens|s['’]appelle|nommé|se\s+llama|llamad[oa])\b", re.IGNORECASE
)
POINTING: Final = re.compile(
    r"(?:(?:and|but|so)\s+)?(?:it|that|this|these|those|they|you)(?:['’]\w+)?\b|(?:das|es|dies)\s|(?:c['’]est|ça)\b|eso\b",
    re.IGNORECASE,
)
"""A clause that begins with something said before."""
PLATITUDE: Final = re.compile(
    r"\bmust\s+(?:be|have|feel)\b|\b(?:can|could|would)\s+be\b|\bis\s+(?:so\s+|really\s+)?(?:key|important|everything|vital)\b",
    re.IGNORECASE,
)
QUOTED: Final = re.compile(r"[\"“„«「『《][^\"”“»」』》\n]{2,80}[\"”“»」』》]|`[^`\n]{1,120}`")

PREFERENCE: Final = re.compile(
    r"\b(?:i(?:['’]d)?\s+(?:(?:really|much|always|usually|generally|would)\s+)*(?:prefer|rather)\b"
    r"|my\s+(?:all[- ]time\s+)?(?:favou?rite|preference|preferred)\b"
    r"|i\s+(?:do\s+not|don['’]t|can['’]t)\s+(?:like|stand)\b"
    r"|i\s+(?:never|only|no\s+longer)\s+want\b|i\s+(?:do\s+not|don['’]t)\s+want\s+(?!to\b)"
    r"|i\s+(?:never|do\s+not|don['’]t|can['’]t|cannot)\s+(?:eat|drink)\b"
    r"|i(?:['’]m|\s+am)\s+(?:an?\s+)?(?:strict\s+)?(?:vegan|vegetarian)\b"
    r"|i\s+(?:hate|dislike)\b|(?:just\s+)?call\s+me\b|from\s+now\s+on\b|i(?:['’]d|\s+would)\s+like\s+you\s+to\b"
    r"|please\s+(?:always|never|don['’]t|do\s+not|keep|use|answer|write|call)\b"
    r"|ich\s+(?:bevorzuge|mag\s+(?:kein|lieber)|hätte\s+lieber|will\s+lieber)|(?:am\s+)?liebsten\b|ab\s+jetzt\b"
    r"|je\s+préfère|je\s+n['’]aime\s+pas|désormais\b|mon\s+\w+\s+préféré|prefiero|no\s+me\s+gusta|mi\s+\w+\s+favorit)"
    r"|我(?:更)?喜欢|我不喜欢|我偏好|方が好き|が好き|が嫌い|선호|좋아해|싫어",
    re.IGNORECASE,
)
CONSTRAINT: Final = re.compile(
    r"\b(?:must(?:n['’]t|\s+(?:not|never|always|only|use|run|pass|support|stay|remain|keep|include|contain|work|return|finish|"
    r"ship|fit|stop|end|start|happen|match|follow))\b|(?:may|can)\s*not\s+exceed"
    r"|(?:is|are|am)\s+not\s+allowed|allergic\s+to|no\s+(?:more|less|later)\s+than|at\s+(?:most|least)\s+\$?\d"
    r"|(?:the\s+)?deadline\b|(?:our|my|the)\s+budget\s+(?:is|of)|only\s+(?:use|allowed|accept)|never\s+(?:use|deploy|touch|"
    r"change|delete|commit|push|send|share|store|call|run|mention|write)|(?:do\s+not|don['’]t)\s+(?:use|deploy|touch|change|"
    r"delete|commit|push|send|share|store|run|mention|write|break|modify|remove)|is\s+(?:required|mandatory|forbidden)"
    r"|darf\s+nicht|dürfen\s+nicht|muss\s+(?:bis|unbedingt)|auf\s+keinen\s+fall|höchstens\s+\d|mindestens\s+\d|frist\b"
    r"|ne\s+(?:doit|dois|faut)\s+pas|il\s+faut\s+que|interdit|au\s+(?:plus|moins)\s+\d|no\s+debe|prohibido|como\s+máximo)"
    r"|必须|必須|不能|不得|禁止|してはいけない|なければならない|해야\s*한다|하지\s*마",
    re.IGNORECASE,
)
DECISION: Final = re.compile(
    r"\b(?:(?:i|we|they|he|she|team)(?:['’]ve|\s+have|\s+had)?\s+(?:finally\s+|just\s+)?(?:decided|agreed|chose|settled\s+on|"
    r"concluded|resolved)\b|(?:let['’]s|we['’]ll|we\s+will|i['’]ll|i\s+will)\s+(?:go\s+with|use|switch\s+to|adopt|stick\s+with)"
    r"|(?:i['’]m|we['’]re|i\s+am|we\s+are)\s+going\s+with|(?:the\s+)?(?:final\s+)?decision\s+(?:is|was)\b|it\s+is\s+decided"
    r"|approved\b|(?:wir|ich)\s+(?:haben|habe)\s+(?:uns|mich|beschlossen)|(?:haben|habe)\b.{0,60}\b(?:entschieden|beschlossen)"
    r"|nous\s+avons\s+décidé|j['’]ai\s+décidé|hemos\s+decidido|decidí|decidimos)"
    r"|决定|決定|決めた|決めました|결정|하기로\s*했",
    re.IGNORECASE,
)
REPLACING: Final = re.compile(
    r"\b(?:instead\s+of|no\s+longer|not\s+\w+\s+any\s?more|any\s?more\b|changed?\s+(?:my|our)\s+minds?|switch(?:ed|ing)?\s+(?:from|to)|"
    r"rather\s+than|from\s+now\s+on|replac(?:e|es|ed|ing)\b|nicht\s+mehr|statt(?:dessen)?\b|ab\s+jetzt|anstelle|ne\s+\w+\s+plus|"
    r"au\s+lieu\s+de|désormais|en\s+lugar\s+de|ya\s+no)\b|不再|改成|改为|もう.{0,12}ない|代わりに|대신",
    re.IGNORECASE,
)
"""Words by which one wish or decision takes the place of another."""
REMINDER: Final = re.compile(
    r"(?:^|[.!,]\s*|\bplease\s+|\byou\s+)remind\s+me\s+(?:to|about|of|on|at|in|tomorrow|next|when|that)\b"
    r"|\b(?:don['’]t\s+(?:let\s+me\s+)?forget\s+to\b(?!\s+(?:take|stay|have|be)\b)|todo:|to\s+do:|still\s+(?:to\s+do|needs?\s+to)"
    r"|erinnere\s+mich|vergiss\s+nicht|rappelle[- ]moi|n['’]oublie\s+pas|recuérdame|no\s+olvides)"
    r"|提醒我|忘れないで|リマインド|잊지\s*마",
    re.IGNORECASE,
)
REQUEST: Final = re.compile(
    r"^(?:(?:and|then|now|so|ok|okay|also|next|please|bitte|hey)[\s,]+)*(?:can|could|would|will)\s+you\b"
    r"(?!\s+(?:please\s+)?(?:believe|imagine|tell|share|say|see|remember|be|like)\b)"
    r"|^(?:please|pls|bitte|s['’]il\s+(?:te|vous)\s+plaît|por\s+favor|请|請|お願い)"
    r"|^(?:(?:and|then|now|so|ok|okay|also|next)[\s,]+)*(?:add|analy[sz]e|build|change|check|clean|compare|configure|convert|"
    r"create|debug|delete|deploy|describe|draft|explain|find|fix|generate|implement|install|investigate|list|make|merge|"
    r"migrate|move|open|optimi[sz]e|plan|prepare|refactor|remove|rename|replace|review|rewrite|run|search|send|set|show|"
    r"summari[sz]e|test|translate|update|upgrade|verify|write)\s+(?:the|a|an|all|my|our|this|that|it|me|up|\S*[./_]\S*)\b"
    r"|してください|してほしい|해\s*줘|해\s*주세요",
    re.IGNORECASE,
)
DONE: Final = re.compile(
    r"^(?:(?:ok|okay|all|great|and)[\s,]+)*(?:done|fixed|finished|completed|resolved|deployed|merged|shipped)\b"
    r"|\bi(?:['’]ve|\s+have)\s+(?:now\s+|just\s+)?(?:fixed|finished|completed|resolved|deployed|merged|shipped|updated|added|"
    r"removed|created|changed|implemented|renamed|installed|moved|sent|written)\b|\b(?:it|this|that|everything)\s+works\s+now\b"
    r"|\b(?:ist|sind)\s+(?:jetzt\s+)?(?:erledigt|fertig|behoben)|\bc['’]est\s+(?:fait|réglé|corrigé)|\b(?:ya\s+está|hecho|arreglado)\b"
    r"|完成了|完了しました|終わりました|완료",
    re.IGNORECASE,
)
ERROR: Final = re.compile(
    r"(?:\b[A-Z]\w*(?:Error|Exception|Failure|Warning)\b|(?i:\b(?:error|fatal|failed|failure|traceback|exception|panic|"
    r"denied|refused|not\s+found|timed?\s?out|exit\s+(?:code|status)\s+[1-9]\d*|segfault|cannot|could\s+not|unable\s+to)\b)"
    r"|错误|失败|エラー|失敗|오류|실패)"
)
GREETING: Final = re.compile(
    r"^(?:(?:how(?:['’]s|\s+is|\s+are|\s+have|\s+was)?\s+(?:you|it|things|everything|life|your\s+\w+)\b.{0,30}"
    r"|what(?:['’]s|\s+is|\s+has|['’]s)?\s+(?:up|new|been|going\s+on|happening)\b.{0,40}|(?:good|great|nice|lovely)\s+to\s+"
    r"(?:see|hear|chat|talk|meet)\b.{0,30}|long\s+time\s+no\s+\w+.{0,10}|(?:talk|see|speak|chat|catch)\s+(?:to\s+|with\s+)?you\b"
    r".{0,20}|take\s+care.{0,10}|have\s+a\s+(?:great|good|nice|lovely|safe|wonderful|fun)\b.{0,30}|good\s+(?:luck|morning|"
    r"evening|night|afternoon|day)\b.{0,20}|keep\s+(?:it\s+up|going|up|on)\b.{0,40}|you['’](?:re|ve)\s+(?:the\s+best|welcome|"
    r"got\s+this)\b.{0,20}|no\s+(?:worries|problem)\b.{0,20}|(?:any|some)thing\s+(?:new|else|fun)\b.{0,40}|guess\s+what\b.{0,10}"
    r"|(?:check|look|take\s+a\s+look)\b.{0,12}\b(?:this|it|out|'em|them)\b|wie\s+geht.{0,30}|alles\s+klar.{0,10}"
    r"|comment\s+(?:ça\s+va|vas-tu|allez-vous).{0,20}|(?:cómo|qué)\s+(?:estás|tal).{0,20}))[.!?…]*$",
    re.IGNORECASE,
)
NEGATIONS: Final = phrase_words(
    "not no never none nor neither without cannot nicht kein keine nie ne pas jamais sin nunca"
)
