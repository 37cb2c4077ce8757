"""The wordings that `suspicion` looks for. Texts are folded: lower case, no accents, single spaces."""

import re
from functools import lru_cache
from itertools import groupby

from lamina.index.terms import fold

_GAP = r"[^.!?。！？\n]{0,60}?"

# "Do not ignore the rules" asks for the opposite.
_NOT_DENIED = r"(?<!not )(?<!n't )(?<!never )(?<!cannot )"
# What a service tells its user about a connection or an account, as far as no mode is entered.
_STATUS = (
    r"(?! (?:dis)?connected\b| (?:logged|signed) (?:in|out|on|off|up)\b| (?:un)?subscribed\b| registered\b| enrolled\b"
    r"| o(?:n|ff)line\b| up to date\b| all set\b| ready to\b| viewing\b| running (?:version|v?\d)"
    r"| (?:in|on) the (?:queue|list|waiting|call|line|lobby)\b)"
)

_OVERRIDE = (
    # English
    rf"\b(?:{_NOT_DENIED}(?:ignor\w*|disregard\w*|overrid\w*|bypass\w*|neglect|discard|forget)"
    rf"|(?:do not|don't|stop) (?:follow|obey)\w*|pay no attention to)\b{_GAP}"
    rf"\b(?:previous|prior|above|preceding|earlier|foregoing|all|any|your|system"
    rf"|former|initial|original|existing|other|the)\b{_GAP}\b(?:instructions?|rules|prompts?|guidelines|directives?"
    rf"|guidance|commands|orders|polic(?:y|ies)|constraints|restrictions|safeguards|programming)\b",
    r"\b(?:ignore|disregard|forget) (?:everything|anything|all|the text|whatever)(?: that)?"
    r" (?:above|before|you (?:were|have been) told|said|was said|i said)\b",
    r"\b(?:ignore|disregard) (?:all |everything )?(?:of )?the above\b",
    rf"\b(?:previous|prior|above|preceding|earlier|foregoing|former|initial|original|existing|your)\b{_GAP}"
    rf"\b(?:instructions?|rules|prompts?|guidelines|directives?|commands|orders|restrictions)\b{_GAP}"
    rf"\b(?:(?:are|is|were|was|have been|has been|become|became) (?:now |hereby |all |thus |henceforth )*"
    rf"(?:null|void|cancel|revoked|invalid|overridden|superseded|suspended|lifted|rescinded|withdrawn)"
    rf"|(?:no longer|do not|don't|does not) (?:apply|count|hold|bind)"
    rf"|(?:must|should|can|may|shall|are to|is to) (?:now |all )?be (?:ignored|disregarded|forgotten|discarded))",
    r"\b(?:new|updated|real|actual|important) (?:system )?instructions?(?: for (?:the|you|this)\b.{0,30})? ?:",
    # German
    rf"\b(?:ignorier\w*|vergiss|vergessen sie|missachte\w*|ubergeh\w*)\b{_GAP}"
    rf"\b(?:anweisung\w*|instruktion\w*|regeln|vorgaben|befehle|richtlinien|bisherige\w*|vorherige\w*)\b",
    # French
    rf"\b(?:ignore[rz]?|oublie[rz]?|ne ten(?:ez|ir|s)? (?:pas|aucun) compte)\b{_GAP}"
    rf"\b(?:instructions?|consignes?|regles|directives?|ordres)\b",
    # Spanish, Portuguese, Italian
    rf"\b(?:ignor[ae]\w*|olvid[ae]\w*|descart[ae]\w*|desconsider\w*|esquec[ae]\w*|dimentica\w*|trascura\w*)\b{_GAP}"
    rf"\b(?:instruccion\w*|instruc(?:ao|oes)\w*|istruzion\w*|reglas|regras|regole|ordenes|ordens|ordini|directrices"
    rf"|indicaciones|direttive)\b",
    # Dutch, Polish, Turkish
    rf"\b(?:negeer|vergeet|zignoruj\w*|ignoruj\w*|zapomnij)\b{_GAP}"
    rf"\b(?:instructies|regels|opdrachten|aanwijzingen|instrukcj\w*|polecen\w*|zasad\w*)\b",
    r"\b(?:onceki|yukaridaki|tum)\b.{0,40}\b(?:talimat\w*|komut\w*|kural\w*)\b.{0,40}\b(?:yok say|unut|goz ardi)\w*",
    # Russian, Ukrainian
    r"(?:игнорир\w*|проигнорир\w*|забудь\w*|не обращаи\w* внимания|не следуи\w*|ігнору\w*).{0,60}"
    r"(?:инструкци\w*|указани\w*|правил\w*|команд\w*|інструкці\w*|вказівк\w*)",
    # Chinese, Japanese, Korean
    r"(?:忽略|无视|無視|忘记|忘記|不要理会|忽視).{0,20}(?:指令|指示|提示|规则|規則|命令|要求|说明|內容|内容)",
    r"(?:以前|これまで|上記|前|すべて|全て).{0,12}(?:指示|命令|ルール|プロンプト).{0,8}(?:無視|忘れ|従わな)",
    r"(?:이전|위의|앞의|모든).{0,12}(?:지시|명령|규칙|지침|프롬프트).{0,8}(?:무시|잊)",
    # Arabic, Hindi
    r"(?:تجاهل|انس).{0,30}(?:التعليمات|الاوامر|القواعد|تعليمات)",
    r"(?:निर्देश|आदेश|नियम).{0,30}(?:अनदेखा|भूल|नजरअंदाज)",
)
_ROLE = (
    r"(?<!where )(?<!who )(?<!what )(?<!how )\byou are (?:now|no longer)\b" + _STATUS,
    r"\bfrom now on,? (?:you|your|act|respond|answer|always|reply)\b",
    rf"\b(?:pretend|act|behave|roleplay)\b{_GAP}\b(?:as if you|you are|you're|as (?:an? )?(?:unrestricted|evil|dan)\b)",
    r"\b(?:enter|enable|activate|switch to) (?:\w+ )?(?:developer|debug|god|dan|jailbreak|admin(?:istrator)?) mode\b",
    r"(?:^|[\n>\]|:.!?] ?)(?:#+ ?)?(?:system|assistant|developer) ?(?:prompt|message|note|override|instructions?)? ?:"
    r" ?(?:you|ignore|do|please|the user|all|new|now|from)\b",
    r"\bdu bist (?:jetzt|ab sofort|nun)\b|\btu es (?:maintenant|desormais)\b|\b(?:ahora eres|agora voce e|ora sei)\b",
    r"ты теперь|теперь ты|انت الان|你现在是|你現在是|从现在开始.{0,4}你",
    r"あなたは今から|今からあなたは|너는 이제|당신은 이제",
)
_PROMPT = (
    rf"\b(?:reveal|print|show|repeat|output|display|leak|disclose|tell me|give me|send|share|quote|write out)\b{_GAP}"
    rf"\b(?:system prompt|initial prompt|hidden prompt|your (?:instructions|prompt|rules|guidelines)"
    rf"|developer message|system message)\b",
    r"\b(?:zeig\w*|nenne?|verrate)\b.{0,40}\b(?:systemprompt|system-prompt|deine anweisungen)\b",
    r"\b(?:revele[rz]?|affiche[rz]?|revela|muestra|mostra)\b.{0,40}"
    r"\b(?:prompt (?:systeme|du systeme|del sistema|do sistema|di sistema))\b",
    r"(?:раскрои|покажи|выведи).{0,40}(?:системн\w+ (?:промпт|запрос|инструкци\w*))",
    r"(?:显示|输出|告诉我|透露|泄露).{0,12}(?:系统提示|系统指令|提示词)|システムプロンプトを|시스템 프롬프트",
)
_SECRECY = (
    rf"\b(?:do not|don't|never|without) (?:tell|inform|mention|telling|informing|mentioning|notify|notifying|alert"
    rf"|reveal|let)\b{_GAP}\b(?:the )?(?:user|human|operator|owner|anyone)\b",
    r"\b(?:sag\w*|verrate?) (?:es |das )?(?:dem|der) (?:nutzer|benutzer|anwender)\w* nicht",
    r"\bne (?:dis|dites|le dites|mentionne[rz]?) (?:pas|rien)\b.{0,20}\butilisateur",
    r"\bno (?:le )?(?:digas|menciones|informes)\b.{0,20}\busuario",
    r"не (?:говори|сообщаи|упоминаи).{0,20}пользовател",
    r"不要告诉(?:用户|使用者)|ユーザーに(?:言わ|伝え)な|사용자에게 (?:말하지|알리지)",
)
_ADDRESS = (
    r"\b(?:in|to|of|from|into|with|modify|augment|enhance|end|begin|start|provide|render|change|rewrite|format|finish)"
    r" (?:the (?:end|beginning|start) of )?your (?:next |final |own )?"
    r"(?:answers?|respon[sc]es?|repl(?:y|ies)|messages?|outputs?|summar(?:y|ies))\b",
    r"\byour (?:answer|response|reply|output)(?:'s)? (?:must|should|has to|needs to|shall|will)\b",
    r"\b(?:when|before|after|while) (?:you )?(?:answer|respond|reply|summari[sz])\w* (?:to )?(?:the|this|any|user)\b",
    r"\b(?:the|this|any|dear|hey|attention,?) (?:ai|llm|language model|chatbot|ai assistant|ai model|ai agent)s?"
    r" (?:must|should|shall|has to|needs to|is (?:required|instructed|asked|ordered))\b",
    r"\b(?:attention|note to|message (?:to|for)|instructions? (?:to|for)),? (?:the |all |any )?"
    r"(?:ai|llm|language model|assistant|chatbot|model|agent)s?\b",
    rf"\b(?:send|forward|post|upload|exfiltrate|e-?mail)\b{_GAP}"
    rf"\b(?:conversation|chat history|api keys?|passwords?|credentials|secrets?|tokens)\b{_GAP}\bto\b",
    r"\b(?:in|an|zu) deine[rn]? antwort\b|\bdans (?:ta|votre) reponse\b|\ben tu respuesta\b|\bna sua resposta\b"
    r"|\bnella tua risposta\b|в (?:своем|твоем|вашем) ответе",
    r"在你的(?:回答|回复|回應|答案)|あなたの(?:回答|返答)に|당신의 (?:답변|응답)",
)


@lru_cache(maxsize=1)
def patterns() -> dict[str, re.Pattern[str]]:
    """By finding: what to search a folded text for. Compiled on first use."""
    named = {"override": _OVERRIDE, "role": _ROLE, "prompt": _PROMPT, "secrecy": _SECRECY, "address": _ADDRESS}
    return {name: re.compile("|".join(f"(?:{wording})" for wording in those)) for name, those in named.items()}


_STEMS = """
ignor, disregard, overrid, bypass, neglect, discard, follow, obey, attention, forget, void, revoked, no longer,
instruction, instruk, missacht, vergiss, vergessen, ubergeh, oubli, compte, olvid, descart, desconsider, esquec,
dimentica, trascura, negeer, vergeet, zignor, zapomnij, talimat, komut, kural, you are, from now, pretend, roleplay,
behave, act as, mode, system, assistant, developer, du bist, tu es, ahora eres, agora voce, ora sei, prompt, user,
human, operator, owner, anyone, nutzer, anwender, utilisateur, usuario, your answer, your respon, your repl, your
mess, your output, your summ, your next, your final, your own, your rules, your guide, answer, respond, reply,
summari, language model, llm, chatbot, the ai, this ai, any ai, dear ai, hey ai, to ai, for ai, api key, password,
credential, secret, token, chat history, conversation, deine, antwort, reponse, respuesta, resposta, risposta,
игнор, забуд, внимания, следуи, ігнор, теперь, раскрои, системн, говори, сообщаи, упоминаи, ответе,
忽略, 无视, 無視, 忘记, 忘記, 不要, 忽視, 指示, 命令, ルール, 你现在, 你現在, 从现在,
今から, 系统提示, 系统指令, 提示词, システム, プロンプト, ユーザー, 在你的, 回答, 返答,
지시, 명령, 규칙, 지침, 프롬프트, 이제, 사용자, 답변, 응답,
تجاهل, انس, انت, निर्देश, आदेश, नियम
"""


@lru_cache(maxsize=1)
def stems() -> tuple[re.Pattern[str], tuple[str, ...]]:
    """Beginnings of words in Latin letters, and pieces of words in other scripts, folded.

    A text with none of them matches no pattern.
    """
    every = sorted(fold(stem) for stem in " ".join(_STEMS.split()).split(", "))
    latin = [stem for stem in every if stem.isascii()]
    # Grouped by their first letter, so that most words are passed over at once.
    grouped = [
        f"{letter}(?:{'|'.join(stem[1:] for stem in group)})" for letter, group in groupby(latin, lambda stem: stem[0])
    ]
    return re.compile(rf"\b(?:{'|'.join(grouped)})"), tuple(stem for stem in every if not stem.isascii())
