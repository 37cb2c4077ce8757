from lamina.index.common_words import background_frequency, is_stop_word


def test_stop_words_everyday_words_and_others_are_told_apart() -> None:
    assert is_stop_word("the")
    assert is_stop_word("don't")
    assert not is_stop_word("good")
    assert not is_stop_word("won")
    assert background_frequency("the") > background_frequency("good") > background_frequency("zeppelin") > 0
