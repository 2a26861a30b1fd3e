"""Encode a model as bytes and decode it: plain arrays and a JSON header, without executable content.

In: a model, and the name of the index that it was learned from. Out: bytes that begin with a line with the version and
the SHA-256 of the rest, then NumPy's ``npz`` without pickling. Bytes of another version, damaged bytes and invalid
trees are refused with the reason. The caller then learns the model again from the runs.
"""

import hashlib
import io
import json
import zipfile
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.estimation.prediction.features import EncodedFactor, Encoding
from assay.estimation.prediction.forest import ARRAYS, Boosting, Forest
from assay.estimation.prediction.instance_types import DEVIATIONS, NUMBERS, TEXTS, InstanceTypeModel, ProcessInputs
from assay.estimation.prediction.model import NewLevelQuantile, TimeModel, TransferModel
from assay.estimation.prediction.stack import SCALE_FEATURES, Stack
from assay.foundation.errors import RepositoryError

VERSION = 6
"""Version of the file format. Files of other versions are rejected."""
MAGIC = f"assay model {VERSION}\n".encode()
_TIME_ARRAYS = {"configurations": "expected_logs", "medians": "median_logs"}
"""Name of an array in the file to the model's field."""


def encode_model(model: TimeModel, learned_from: str) -> bytes:
    """Return the model as bytes."""
    arrays: dict[str, Any] = {name: getattr(model, field) for name, field in _TIME_ARRAYS.items()}
    stack = model.stack
    for prefix, forest in (("forest", stack.forest), ("boosting", stack.boosting.forest), ("scale", stack.scale)):
        arrays |= {f"{prefix}.{name}": getattr(forest, name) for name in ARRAYS}
    arrays["boosting.starts"] = stack.boosting.starts
    for kind, transfer in model.transfers.items():
        arrays |= {f"transfer.{kind}.{name}": getattr(transfer.forest, name) for name in ARRAYS}
        arrays |= {f"transfer.{kind}.columns": transfer.columns, f"transfer.{kind}.line": transfer.line}
    if (instances := model.instance_types) is not None:
        arrays |= {f"instance_types.{name}": getattr(instances.inputs, name) for name in (*NUMBERS, *TEXTS)}
        arrays |= {f"instance_types.middle.{name}": values for name, values in instances.means.items()}
        arrays |= {f"instance_types.spread.{name}": values for name, values in instances.scales.items()}
        arrays |= {"instance_types.weights": instances.weights, "instance_types.precision": instances.precision}
    arrays |= {f"level_quantiles.{kind}": values for kind, values in model.level_quantiles.items()}
    arrays |= {f"pairs.{pair}": values for pair, values in model.pairs.items()}
    header = {
        "learned_from": learned_from,
        "factors": [asdict(factor) for factor in model.encoding.factors],
        "hardware": model.encoding.hardware,
        "usual": model.encoding.hardware_medians,
        "quantile": model.quantile,
        "share": stack.share,
        "unseen": {name: asdict(values) for name, values in model.new_level_quantiles.items()},
        "transfers": list(model.transfers),
        "instance_types": instances
        and {
            "deviations": instances.deviations,
            "middle": instances.mean_log,
            "width": instances.width,
            "types": instances.types,
        },
        "level_quantiles": list(model.level_quantiles),
        "pairs": list(model.pairs),
        "runs": model.runs,
        "seed": model.seed,
    }
    arrays["header"] = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    file = io.BytesIO()
    np.savez(file, **arrays)
    content = file.getvalue()
    return MAGIC + hashlib.sha256(content).hexdigest().encode() + b"\n" + content


def decode_model(data: bytes, learned_from: str) -> TimeModel:
    """Return the model in ``data``. Raises RepositoryError, with the reason, if it can't be used."""
    if not data.startswith(b"assay model "):
        raise _refused("it is not a model file of assay")
    if not data.startswith(MAGIC):
        raise _refused("it has another version")
    digest, _, content = data[len(MAGIC) :].partition(b"\n")
    if digest != hashlib.sha256(content).hexdigest().encode():
        raise _refused("its checksum is wrong: the file is damaged or was changed")
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
            model, recorded_source = _model(arrays), json.loads(arrays["header"].tobytes())["learned_from"]
    except (OSError, ValueError, LookupError, TypeError, AttributeError, zipfile.BadZipFile, EOFError) as error:
        raise _refused(
            f"it can't be read: {str(error).splitlines()[0] if str(error) else 'it is incomplete'}"
        ) from error
    if recorded_source != learned_from:
        raise _refused("it was learned from other runs")
    return model


def _refused(reason: str) -> RepositoryError:
    return RepositoryError(f"a cached model is not used: {reason}", hint="assay learns it again from the runs")


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
        raise ValueError("its boosted trees don't divide into equal sets")
    if not 0 <= share <= 1:
        raise ValueError(f"the weight of its boosted trees is {share:g}")
    return Stack(_forest(arrays, "forest", width), boosting, share, _forest(arrays, "scale", width + SCALE_FEATURES))


def _instance_types(arrays: Any, header: Any) -> InstanceTypeModel | None:
    if header is None:
        return None
    texts = {name: arrays[f"instance_types.{name}"] for name in TEXTS}
    numbers = {name: _array(arrays, f"instance_types.{name}", np.float64, 2) for name in NUMBERS}
    means = {name: _array(arrays, f"instance_types.middle.{name}", np.float64) for name in NUMBERS}
    scales = {name: _array(arrays, f"instance_types.spread.{name}", np.float64) for name in NUMBERS}
    weights = _array(arrays, "instance_types.weights", np.float64)
    precision = _array(arrays, "instance_types.precision", np.float64, 2)
    rows = len(weights)
    is_consistent = all(len(values) == rows for values in (*texts.values(), *numbers.values()))
    is_consistent &= precision.shape == (rows, rows) and all(values.dtype.kind == "U" for values in texts.values())
    is_consistent &= all(numbers[name].shape[1] == len(means[name]) == len(scales[name]) for name in NUMBERS)
    if not is_consistent or set(header["deviations"]) != set(DEVIATIONS):
        raise ValueError("the model for a new instance type does not fit")
    deviations = {name: float(value) for name, value in header["deviations"].items()}
    inputs = ProcessInputs(**texts, **numbers)
    facts = float(header["middle"]), weights, precision, float(header["width"]), int(header["types"])
    return InstanceTypeModel(inputs, means, scales, deviations, *facts)


def _array(arrays: Any, name: str, kind: Any, dimensions: int = 1) -> NDArray[Any]:
    array: NDArray[Any] = arrays[name]
    if array.dtype != kind or array.ndim != dimensions:
        raise ValueError(f"{name} is {array.ndim}-dimensional {array.dtype}")
    return array


def _model(arrays: Any) -> TimeModel:
    header = json.loads(arrays["header"].tobytes())
    factors = (EncodedFactor(**{**fields, "levels": tuple(fields["levels"])}) for fields in header["factors"])
    encoding = Encoding(tuple(factors), tuple(header["hardware"]), tuple(map(float, header["usual"])))
    if not _are_texts(encoding) or len(encoding.hardware) != len(encoding.hardware_medians):
        raise ValueError("a factor's name or level is not a text, or a hardware value is missing")
    width = len(encoding.names)
    transfers = {}
    for kind in header["transfers"]:
        columns = _array(arrays, f"transfer.{kind}.columns", np.int64)
        line = _array(arrays, f"transfer.{kind}.line", np.float64)
        if ((columns < 0) | (columns >= width)).any() or len(line) != len(columns) + 1:
            raise ValueError(f"the model for a new {kind} does not fit the features")
        transfers[kind] = TransferModel(_forest(arrays, f"transfer.{kind}", len(columns)), columns, line)
    sizes = {factor.name: len(factor.levels) + 1 for factor in encoding.factors}
    quantiles = {kind: _array(arrays, f"level_quantiles.{kind}", np.float64) for kind in header["level_quantiles"]}
    pairs = {pair: _array(arrays, f"pairs.{pair}", np.bool_, 2) for pair in header["pairs"]}
    shapes = {pair: tuple(sizes[kind] for kind in pair.split(" × ")) for pair in pairs}
    if any(len(quantiles[kind]) != sizes[kind] for kind in quantiles) or any(
        pairs[p].shape != shapes[p] for p in pairs
    ):
        raise ValueError("the quantiles or pairs do not fit the levels")
    time_arrays = {field: _array(arrays, name, np.float64) for name, field in _TIME_ARRAYS.items()}
    if len({len(values) for values in time_arrays.values()}) > 1:
        raise ValueError("its configurations have different numbers of times")
    return TimeModel(
        encoding=encoding,
        stack=_stack(arrays, float(header["share"]), width),
        quantile=float(header["quantile"]),
        level_quantiles=quantiles,
        pairs=pairs,
        new_level_quantiles={
            name: NewLevelQuantile(float(fields["quantile"]), int(fields["levels"]))
            for name, fields in header["unseen"].items()
        },
        transfers=transfers,
        instance_types=_instance_types(arrays, header["instance_types"]),
        runs=int(header["runs"]),
        seed=int(header["seed"]),
        **time_arrays,
    )


def _are_texts(encoding: Encoding) -> bool:
    texts = [text for factor in encoding.factors for text in (factor.name, *factor.levels)]
    return all(isinstance(text, str) for text in (*texts, *encoding.hardware))
