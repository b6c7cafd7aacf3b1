"""What are the flat arrays of kernels made of?"""

from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

U64: TypeAlias = NDArray[np.uint64]
U32: TypeAlias = NDArray[np.uint32]
U16: TypeAlias = NDArray[np.uint16]
U8: TypeAlias = NDArray[np.uint8]
I64: TypeAlias = NDArray[np.int64]
I32: TypeAlias = NDArray[np.int32]

ZONE: Final = 64
"""Entries that kernels look at together: a bit of a word for each."""
