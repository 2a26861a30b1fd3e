"""A model as bytes and back: plain arrays and a JSON header, nothing that is ever executed.

In: a model, and what it was learned from (the index's name). Out: bytes that begin with a line of magic and the SHA-256
of the rest, then NumPy's ``npz`` with pickling forbidden. What is not of this version, damaged, or can't be walked
through is refused in words; the caller learns anew then, for a model is derived like the index that it lies beside.
"""

import hashlib
import io
import json
import zipfile
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.estimation.prediction.features import Encoding, Factor
from assay.estimation.prediction.forest import ARRAYS, Boosting, Forest
from assay.estimation.prediction.model import Model, Transfer, Unseen
from assay.estimation.prediction.stack import SCALE_FEATURES, Stack
from assay.foundation.errors import RepositoryError

VERSION = 4
MAGIC = f"assay model {VERSION}\n".encode()
_PLAIN = ("configurations", "medians")


def written(model: Model, learned_from: str) -> bytes:
    """Return the model as bytes."""
    arrays: dict[str, Any] = {name: getattr(model, name) for name in _PLAIN}
    stack = model.stack
    for prefix, forest in (("forest", stack.forest), ("boosting", stack.boosting.forest), ("scale", stack.scale)):
        arrays |= {f"{prefix}.{name}": getattr(forest, name) for name in ARRAYS}
    arrays["boosting.starts"] = stack.boosting.starts
    for kind, transfer in model.transfers.items():
        arrays |= {f"transfer.{kind}.{name}": getattr(transfer.forest, name) for name in ARRAYS}
        arrays |= {f"transfer.{kind}.columns": transfer.columns, f"transfer.{kind}.line": transfer.line}
    arrays |= {f"own.{kind}": found for kind, found in model.own.items()}
    arrays |= {f"pairs.{pair}": found for pair, found in model.pairs.items()}
    header = {
        "learned_from": learned_from,
        "factors": [asdict(factor) for factor in model.encoding.factors],
        "hardware": model.encoding.hardware,
        "usual": model.encoding.usual,
        "quantile": model.quantile,
        "share": stack.share,
        "unseen": {name: asdict(found) for name, found in model.unseen.items()},
        "transfers": list(model.transfers),
        "own": list(model.own),
        "pairs": list(model.pairs),
        "runs": model.runs,
        "seed": model.seed,
    }
    arrays["header"] = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    file = io.BytesIO()
    np.savez(file, **arrays)
    content = file.getvalue()
    return MAGIC + hashlib.sha256(content).hexdigest().encode() + b"\n" + content


def read(data: bytes, learned_from: str) -> Model:
    """Return the model in some bytes. RepositoryError, in words, when it is none that can be used."""
    if not data.startswith(b"assay model "):
        raise _refused("it is no model of assay's")
    if not data.startswith(MAGIC):
        raise _refused("it is of another version")
    digest, _, content = data[len(MAGIC) :].partition(b"\n")
    if digest != hashlib.sha256(content).hexdigest().encode():
        raise _refused("its content is not what was written: it is damaged or was changed")
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
            model, told = _model(arrays), json.loads(arrays["header"].tobytes())["learned_from"]
    except (OSError, ValueError, LookupError, TypeError, AttributeError, zipfile.BadZipFile, EOFError) as error:
        raise _refused(
            f"it can't be read: {str(error).splitlines()[0] if str(error) else 'it is incomplete'}"
        ) from error
    if told != learned_from:
        raise _refused("it was learned from other runs")
    return model


def _refused(why: str) -> RepositoryError:
    return RepositoryError(f"a kept model is not used: {why}", hint="it is learned anew")


def _forest(arrays: Any, prefix: str, width: int) -> Forest:
    types = {"roots": np.int32, "right": np.int32, "feature": np.int16, "number": np.float32}
    forest = Forest(**{name: _array(arrays, f"{prefix}.{name}", kind) for name, kind in types.items()})
    if (fault := forest.fault(width)) is not None:
        raise ValueError(fault)
    return forest


def _stack(arrays: Any, share: float, width: int) -> Stack:
    starts = _array(arrays, "boosting.starts", np.float64)
    boosting = Boosting(_forest(arrays, "boosting", width), starts)
    if not len(starts) or boosting.forest.trees % len(starts) or not np.isfinite(starts).all():
        raise ValueError("its boosted trees have other numbers of sets")
    if not 0 <= share <= 1:
        raise ValueError(f"the weight of its boosted trees is {share:g}")
    return Stack(_forest(arrays, "forest", width), boosting, share, _forest(arrays, "scale", width + SCALE_FEATURES))


def _array(arrays: Any, name: str, kind: Any, dimensions: int = 1) -> NDArray[Any]:
    found: NDArray[Any] = arrays[name]
    if found.dtype != kind or found.ndim != dimensions:
        raise ValueError(f"{name} is {found.ndim}-dimensional {found.dtype}")
    return found


def _model(arrays: Any) -> Model:
    header = json.loads(arrays["header"].tobytes())
    factors = (Factor(**{**told, "levels": tuple(told["levels"])}) for told in header["factors"])
    encoding = Encoding(tuple(factors), tuple(header["hardware"]), tuple(map(float, header["usual"])))
    if not _are_texts(encoding) or len(encoding.hardware) != len(encoding.usual):
        raise ValueError("a factor's name or level is no text, or hardware has no number")
    width = len(encoding.names)
    transfers = {}
    for kind in header["transfers"]:
        columns = _array(arrays, f"transfer.{kind}.columns", np.int64)
        line = _array(arrays, f"transfer.{kind}.line", np.float64)
        if ((columns < 0) | (columns >= width)).any() or len(line) != len(columns) + 1:
            raise ValueError(f"what is known of a new {kind} fits no feature")
        transfers[kind] = Transfer(_forest(arrays, f"transfer.{kind}", len(columns)), columns, line)
    sizes = {factor.name: len(factor.levels) + 1 for factor in encoding.factors}
    own = {kind: _array(arrays, f"own.{kind}", np.float64) for kind in header["own"]}
    pairs = {pair: _array(arrays, f"pairs.{pair}", np.bool_, 2) for pair in header["pairs"]}
    shapes = {pair: tuple(sizes[kind] for kind in pair.split(" × ")) for pair in pairs}
    if any(len(own[kind]) != sizes[kind] for kind in own) or any(pairs[p].shape != shapes[p] for p in pairs):
        raise ValueError("what was measured of each level fits other levels")
    plain = {name: _array(arrays, name, np.float64) for name in _PLAIN}
    if len({len(found) for found in plain.values()}) > 1:
        raise ValueError("its configurations have different numbers of times")
    return Model(
        encoding=encoding,
        stack=_stack(arrays, float(header["share"]), width),
        quantile=float(header["quantile"]),
        own=own,
        pairs=pairs,
        unseen={name: Unseen(float(told["quantile"]), int(told["levels"])) for name, told in header["unseen"].items()},
        transfers=transfers,
        runs=int(header["runs"]),
        seed=int(header["seed"]),
        **plain,
    )


def _are_texts(encoding: Encoding) -> bool:
    texts = [text for factor in encoding.factors for text in (factor.name, *factor.levels)]
    return all(isinstance(text, str) for text in (*texts, *encoding.hardware))
