import numpy as np

from lamina.index.blas import hold_blas_to_one_thread


def test_holding_blas_to_one_thread_is_repeatable_and_leaves_products_as_they_are() -> None:
    matrix = np.arange(12, dtype=np.float32).reshape(4, 3)
    before = (matrix @ matrix.T).tolist()
    assert hold_blas_to_one_thread() == hold_blas_to_one_thread()
    assert (matrix @ matrix.T).tolist() == before
