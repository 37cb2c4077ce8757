"""Words that notes use about a conversation rather than out of it, and how words of other scripts are compared.

In scripts with capitals a name is known by its capital. In others it is not, so there every word of a note has to
stand in what was said, but for the words of reporting below.
"""

import re
import unicodedata
from typing import Final

from lamina.index.terms import fold


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


ROLES: Final = _words("""
    user users assistant agent tool tools system nutzer nutzerin benutzer anwender assistent werkzeug utilisateur
    utilisatrice outil assistante usuario usuaria asistente herramienta utente assistente gebruiker пользователь
    пользователя пользователю ассистент ассистента инструмент
    """)
"""How notes call those who speak; folded."""

USERS: Final = re.compile(
    r"(?:the\s+|der\s+|die\s+|l['’]\s?|el\s+|la\s+|il\s+|de\s+)?(?:user|nutzer|nutzerin|benutzer|anwender|utilisateur"
    r"|utilisatrice|usuario|usuaria|utente|gebruiker|пользовател\w+)(?![^\W\d_])|用户|用戶|使用者|ユーザー|사용자|المستخدم|المستعمل"
    r"|המשתמש|उपयोगकर्ता|उपयोगकर्त्ता|ผู้ใช้",
    re.IGNORECASE,
)
"""A note that begins like this says something about the user."""

REPORTING: Final = ROLES | _words("""
    say says said state states stated stating ask asks asked asking tell tells told mention mentions mentioned explain
    explains explained describe describes described report reports reported note notes noted add adds added request
    requests requested requesting suggest suggests suggested recommend recommends recommended propose proposes proposed
    offer offers offered answer answers answered reply replies replied confirm confirms confirmed approve approves
    approved agree agrees agreed accept accepts accepted decline declines declined reject rejects rejected refuse
    refuses refused decide decides decided choose chooses chose chosen plan plans planned planning intend intends
    intended want wants wanted need needs needed like likes liked prefer prefers preferred expect expects expected hope
    hopes hoped wonder wonders wondered consider considers considered warn warns warned show shows showed shown find
    finds found return returns returned call calls called run runs ran try tries tried result results resulted outcome
    decision preference constraint task
    issue ticket fact event question error goal intent current currently now previously earlier
    later before after already still instead replacing replaces replaced changed changes change switched switch updated
    update completed complete done finished failed succeeded successfully open pending because since about regarding via
    using use uses used make makes made give gives gave given provide provides provided get gets got set sets keep keeps
    kept work works worked working also including includes include concerning conversation message discuss discussed
    sagt sagte fragt fragte bittet möchte will plant bevorzugt hat ist
    """)
"""Words of reporting, which need not have been said by anybody."""

GIVEN_NAMES: Final = _words("""
    mark will may hope bill grace frank rose drew jack art dean joy faith dawn sue pat april june august rob nick max
    chase miles reed pierce carol penny ruby amber ivy violet iris lance grant ray rich sandy lane blake brook brooks
    gene hunter mason parker taylor carter cooper wade clay cliff dale glen heath
    """)
"""Names that are ordinary words: with a capital they have to have been said, also where a sentence begins."""

_NOTED: Final = _words("""
    用户 用戶 使用者 助手 助理 代理 工具 系统 系統 表示 说道 提到 询问 詢問 要求 请求 請求 希望 想要 需要 计划 計劃
    打算 决定 決定 偏好 喜欢 喜歡 确认 確認 同意 拒绝 拒絕 建议 建議 推荐 推薦 解释 解釋 回答 完成 已经 已經 失败
    失敗 成功 返回 结果 結果 错误 錯誤 正在 是否 如何 关于 關於 可以 目前 之前 之后 之後 因为 因為 所以 取代 替代
    改为 改為 通过 使用 的 了 在 和 与 與 于 於 为 為 及 或 是 将 將 已 并 並
    ユーザー ユーザ アシスタント エージェント ツール は が を に で と の も へ から まで より です ます ました した
    する して いる いた ている ていた
    された される こと ため よう など という と述べた と言った 述べた 言った 尋ねた 聞いた 依頼 依頼した 希望
    希望して 予定 決定 決定した 好む
    好み 確認 確認した 完了 失敗 成功 質問 質問した 提案 提案した 説明 説明した 回答 変更 変更した 代わりに 現在
    以前
    사용자 사용자가 사용자는 사용자의 어시스턴트 어시스턴트가 도구 말했다 말함 물었다 물음 질문 질문함 요청 요청했다
    요청함 원한다 원함 계획 계획이다 결정 결정했다 결정함 선호 선호한다 선호함 확인 확인했다 확인함 완료 완료됨 실패
    성공 결과 오류 대신 현재 이전 위해 대한 대해 및
    المستخدم المساعد الاداة قال يقول ذكر سال يسال طلب يطلب يريد يفضل يخطط قرر اكد وافق رفض اقترح اوضح نتيجة خطا في
    من الى على عن مع ان انه هو هي كان هذا هذه بدلا حاليا سابقا تم او و
    המשתמש העוזר הכלי אמר שאל ביקש רוצה מעדיף מתכנן החליט אישר הסכים סירב הציע הסביר של את על עם אל כי הוא היא זה
    כדי במקום
    उपयोगकर्ता सहायक ने कहा पूछा चाहता चाहती चाहते पसंद है हैं था थी थे का की के को से में पर और कि योजना निर्णय
    पुष्टि किया गया
    ผู้ใช้ ผู้ช่วย บอกว่า ถามว่า ต้องการ ชอบ วางแผน ตัดสินใจ ยืนยัน ที่ และ ของ ใน จะ ได้ เป็น มี ว่า ให้
    """)

_PREFIXES: Final = (
    "وال",
    "بال",
    "كال",
    "فال",
    "لل",
    "ال",
    "و",
    "ف",
    "ب",
    "ك",
    "ل",
    "וה",
    "שה",
    "ו",
    "ה",
    "ב",
    "כ",
    "ל",
    "מ",
    "ש",
)
_SUFFIXES: Final = _words("""
    은 는 이 가 을 를 의 에 에서 에게 한테 와 과 도 로 으로 부터 까지 만 처럼 보다 이나 나 라고 이라고 께서
    씨 님 입니다 이다 임
    """)
_ENDINGS: Final = _words(
    fold("""
    а у ы е ой ою ом ем ам ах ами и ю я й ей ям ях ями ии ию ого ому ым о ов ь
    ης η ο ος ου ον ας α ες
    """)
)


def is_cased(word: str) -> bool:
    """Whether a word's script has capitals."""
    return any(unicodedata.category(one) in ("Lu", "Ll", "Lt") for one in word[:2])


def is_noted(word: str) -> bool:
    """Whether a folded word of a script without capitals belongs to reporting."""
    return word in _FOLDED


def longest_noted(text: str, start: int) -> int:
    """Where the longest word of reporting ends that begins there; `start` when none does."""
    for length in range(min(_LONGEST, len(text) - start), 0, -1):
        if text[start : start + length] in _FOLDED:
            return start + length
    return start


def bare_forms(word: str) -> frozenset[str]:
    """A word of a script without capitals as it is, and without the articles and particles attached to it."""
    forms = {word}
    if "\u0590" <= word[0] <= "\u06ff":
        forms |= {word[len(one) :] for one in _PREFIXES if word.startswith(one) and len(word) - len(one) >= 3}
    elif "가" <= word[0] <= "힣":
        forms |= {word[: -len(one)] for one in _SUFFIXES if word.endswith(one) and len(word) > len(one)}
    return frozenset(forms)


def same_inflected(one: str, other: str) -> bool:
    """Whether two words of a script like Cyrillic are one name in two cases."""
    shared = 0
    while shared < min(len(one), len(other)) and one[shared] == other[shared]:
        shared += 1
    return shared >= 3 and all(rest in _ENDINGS or not rest for rest in (one[shared:], other[shared:]))


_FOLDED: Final = frozenset(map(fold, _NOTED))
_LONGEST: Final = max(map(len, _FOLDED))
