"""Words that say little: stop words, and how often ordinary words occur in everyday text."""

from __future__ import annotations

_STOP = frozenset(
    ["a", "about", "after", "all", "also", "am", "an", "and", "any", "are", "as", "at", "be", "because", "been", "before", "being", "but", "by", "can", "could", "did", "do", "does", "doing", "done", "during", "each", "either", "etc", "every", "for", "from", "get", "gets", "getting", "got", "had", "has", "have", "having", "he", "her", "here", "hers", "herself", "him", "himself", "his", "how", "i", "if", "in", "into", "is", "it", "its", "itself", "just", "let", "like", "made", "make", "many", "may", "me", "might", "more", "most", "much", "must", "my", "myself", "no", "nor", "not", "now", "of", "off", "on", "once", "one", "only", "or", "other", "our", "ours", "out", "over", "own", "per", "said", "same", "say", "shall", "she", "should", "so", "some", "something", "such", "than", "that", "the", "their", "theirs", "them", "themselves", "then", "there", "these", "they", "thing", "things", "this", "those", "though", "through", "to", "too", "under", "until", "up", "upon", "us", "very", "was", "we", "were", "what", "whatever", "when", "where", "whether", "which", "while", "who", "whom", "whose", "why", "will", "with", "within", "without", "would", "yet", "you", "your", "yours", "yourself", "d", "ll", "m", "re", "s", "t", "ve", "don", "didn", "doesn", "isn", "aren", "wasn", "weren", "hasn", "haven", "hadn", "won", "wouldn", "couldn", "shouldn", "i'm", "i've", "i'd", "i'll", "you're", "you've", "you'd", "you'll", "he'd", "he'll", "she'd", "she'll", "it'll", "we're", "we've", "we'd", "we'll", "they're", "they've", "they'd", "they'll", "don't", "didn't", "doesn't", "isn't", "aren't", "wasn't", "weren't", "hasn't", "haven't", "hadn't", "won't", "wouldn't", "can't", "couldn't", "shouldn't", "let's", "that'll", "there'll", "who'd", "who'll"]
)
_EVERYDAY = frozenset(
    ["ask", "away", "back", "bad", "best", "better", "big", "bit", "bring", "call", "came", "care", "change", "come", "day", "days", "different", "easy", "end", "enjoy", "even", "ever", "far", "feel", "few", "find", "first", "free", "friend", "friends", "fun", "give", "glad", "go", "goes", "going", "gone", "good", "great", "happen", "happy", "hard", "help", "hey", "hi", "home", "hope", "idea", "important", "job", "keep", "kind", "knew", "know", "last", "late", "learn", "least", "left", "less", "life", "little", "live", "long", "look", "lot", "love", "maybe", "mean", "mind", "moment", "month", "need", "never", "new", "next", "nice", "night", "number", "ok", "okay", "old", "part", "people", "person", "place", "plan", "play", "point", "pretty", "put", "ready", "real", "really", "recent", "right", "saw", "see", "seem", "show", "since", "small", "sometimes", "soon", "sort", "special", "start", "still", "stuff", "sure", "take", "talk", "tell", "thank", "thanks", "think", "thought", "time", "today", "together", "told", "tomorrow", "tonight", "took", "tried", "try", "turn", "two", "type", "use", "used", "want", "wanted", "watch", "way", "week", "well", "went", "wonderful", "work", "world", "wow", "yeah", "year", "years", "yes", "yesterday"]
)


def is_stop_word(word: str) -> bool:
    """Say whether a folded word only holds a sentence together."""
    return word in _STOP


def background_frequency(word: str) -> float:
    """Estimate the share of everyday short texts that contain a folded word."""
    if word in _STOP:
        return 0.2
    return 0.03 if word in _EVERYDAY else 0.001
