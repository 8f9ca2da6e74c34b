"""Arrays uploaded in every form, converted to every other, used by reference; hostile files."""

from __future__ import annotations

import io
import json
from typing import Any

import httpx
import msgpack
import numpy as np
import pytest
import scipy.sparse as sp

from tests.case_requests import CASES, corpus, load_cases

MATRIX = sp.random(7, 5, density=0.4, format="csr", random_state=3)
LAYOUTS = ("coo", "csr", "csc", "bcoo", "bcsr")


def wire(layout: str, matrix: Any = MATRIX) -> dict[str, Any]:
    """A scipy matrix as the API takes it."""
    coo = matrix.tocoo()
    if layout == "coo":
        parts = {"row": coo.row, "col": coo.col, "values": coo.data}
    elif layout == "bcoo":
        parts = {"indices": np.stack([coo.row, coo.col], 1), "values": coo.data}
    else:
        packed = matrix.tocsc() if layout == "csc" else matrix.tocsr()
        parts = {"indptr": packed.indptr, "indices": packed.indices, "values": packed.data}
    lists = {name: part.tolist() for name, part in parts.items()}
    return {"layout": layout, "shape": list(matrix.shape), **lists}


def dense(document: Any) -> np.ndarray:
    """A value of the API as a dense numpy array."""
    if not isinstance(document, dict):
        return np.array(document, float)
    if "layout" not in document:
        return np.array(document["data"], document["dtype"]).reshape(document["shape"])
    parts = {name: dense(part) for name, part in document.items() if name not in HEAD}
    shape = document["shape"]
    match document["layout"]:
        case "coo":
            index = (parts["row"].astype(int), parts["col"].astype(int))
        case "bcoo":
            index = tuple(parts["indices"].astype(int).T)
        case layout:
            kind = sp.csc_matrix if layout == "csc" else sp.csr_matrix
            triple = (parts["values"], parts["indices"].astype(int), parts["indptr"].astype(int))
            return kind(triple, shape=shape).toarray()
    return sp.coo_matrix((parts["values"], index), shape=shape).toarray()


HEAD = {"layout", "shape"}


def upload(client: httpx.Client, content: bytes, media: str = "application/json") -> httpx.Response:
    return client.post("/v1/arrays", content=content, headers={"content-type": media})


def test_posting_twice_is_201_then_200_with_one_id(client: httpx.Client) -> None:
    body = json.dumps([[1.0, 2.5], [3.0, 4.75]]).encode()
    first, second = upload(client, body), upload(client, body)
    assert (first.status_code, second.status_code) == (201, 200)
    assert first.json() == second.json()
    location = first.headers["location"]
    assert first.headers["etag"] == f'"{first.json()["array"]}"'
    held = client.get(location, headers={"if-none-match": first.headers["etag"]})
    assert held.status_code == 304


def test_deleted_arrays_are_gone(client: httpx.Client) -> None:
    location = upload(client, b"[9.0, 8.0, 7.125]").headers["location"]
    assert client.delete(location).status_code == 204
    assert client.get(location).status_code == 404
    assert client.delete(location).status_code == 404


@pytest.mark.parametrize("order", ["C", "F"])
def test_npy_in_and_out(client: httpx.Client, order: Any) -> None:
    value = np.asarray([[1, 2, 3], [4, 5, 6]], np.int16, order=order)
    file = io.BytesIO()
    np.save(file, value)
    location = upload(client, file.getvalue(), "application/octet-stream").headers["location"]
    back = client.get(location + "/data", headers={"accept": "application/x-npy"}).content
    loaded = np.load(io.BytesIO(back))
    assert loaded.dtype == np.int16
    np.testing.assert_array_equal(loaded, value)


def test_a_form_that_arrays_do_not_have_is_406(client: httpx.Client) -> None:
    location = upload(client, b"[1.0, 2.0, 3.5]").headers["location"]
    for asked in ("image/png", "text/csv"):
        answer = client.get(location + "/data", headers={"accept": asked})
        assert answer.status_code == 406
        assert "application/x-npy" in answer.json()["hint"]
    assert client.get(location + "/data", headers={"accept": "text/*"}).json() == [1.0, 2.0, 3.5]


def test_msgpack_in_and_out(client: httpx.Client) -> None:
    value = np.arange(6, dtype=np.float32).reshape(2, 3)
    body = {"dtype": "float32", "shape": [2, 3], "data": value.tobytes()}
    location = upload(client, msgpack.packb(body), "application/msgpack").headers["location"]
    back = client.get(location + "/data", headers={"accept": "application/msgpack"}).content
    assert msgpack.unpackb(back) == body


@pytest.mark.parametrize("source", LAYOUTS)
@pytest.mark.parametrize("target", [*LAYOUTS, "dense"])
def test_every_layout_converts_to_every_other(
    client: httpx.Client, source: str, target: str
) -> None:
    location = upload(client, json.dumps(wire(source)).encode()).headers["location"]
    back = client.get(location + "/data", params={"layout": target}).json()
    assert target == "dense" or back["layout"] == target
    np.testing.assert_array_equal(dense(back), MATRIX.toarray())


def test_scipy_npz_and_matrix_market_round_trip(client: httpx.Client) -> None:
    file = io.BytesIO()
    sp.save_npz(file, MATRIX)
    location = upload(client, file.getvalue(), "application/zip").headers["location"]
    npz = client.get(location + "/data", headers={"accept": "application/x-npz"}).content
    np.testing.assert_array_equal(sp.load_npz(io.BytesIO(npz)).toarray(), MATRIX.toarray())
    mtx = client.get(location + "/data", headers={"accept": "application/x-matrix-market"}).content
    again = upload(client, mtx, "application/x-matrix-market").headers["location"]
    coo = client.get(again + "/data").json()
    np.testing.assert_array_equal(dense(coo), MATRIX.toarray())


def test_a_pattern_counts_every_entry(client: httpx.Client) -> None:
    location = upload(client, json.dumps(wire("csr")).encode()).headers["location"]
    pattern = client.get(location + "/pattern", params={"bins": 3}).json()
    assert np.sum(pattern["counts"]) == pattern["nnz"] == MATRIX.nnz
    assert np.shape(pattern["counts"]) == (3, 3)


RAGGED = {
    "layout": "bcsr",
    "shape": [3, 2, 3],
    "indptr": [[0, 1, 2], [0, 1, 1], [0, 0, 0]],
    "indices": [[0, 1, 0], [1, 0, 0], [0, 0, 0]],
    "values": [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]],
}


def test_a_batch_pads_with_cells_that_exist(client: httpx.Client) -> None:
    wanted = np.zeros((3, 2, 3))
    wanted[0, 0, 0], wanted[0, 1, 1], wanted[1, 0, 1] = 1, 2, 4
    location = upload(client, json.dumps(RAGGED).encode()).headers["location"]
    assert client.get(location + "/pattern").json()["nnz"] == 3
    value = client.get(location + "/data", params={"layout": "bcoo"}).json()
    indices = np.reshape(value["indices"]["data"], (3, 2, 2))
    assert (indices < [2, 3]).all()
    summed = np.zeros((3, 2, 3))
    for at in range(3):
        np.add.at(summed[at], tuple(indices[at].T), value["values"][at])
    np.testing.assert_array_equal(summed, wanted)
    back = upload(client, json.dumps(value).encode()).headers["location"]
    for place in (location, back):
        whole = client.get(place + "/data", params={"layout": "dense"}).json()
        np.testing.assert_array_equal(whole, wanted)


def test_a_bcoo_of_bare_empty_lists_is_empty(client: httpx.Client) -> None:
    for shape, none in (([2, 3], []), ([2, 2, 3], [[], []])):
        value = {"layout": "bcoo", "shape": shape, "indices": none, "values": none}
        location = upload(client, json.dumps(value).encode()).headers["location"]
        whole = client.get(location + "/data", params={"layout": "dense"}).json()
        np.testing.assert_array_equal(whole, np.zeros(shape))


def test_uploads_that_are_nothing_known_say_so(client: httpx.Client) -> None:
    binary = {"content-type": "application/octet-stream"}
    empty = client.post("/v1/arrays", content=b"", headers=binary)
    assert empty.status_code == 422
    assert "empty" in empty.json()["detail"]
    strange = client.post("/v1/arrays", content=b"\x00\x01", headers=binary)
    assert strange.status_code == 415
    assert "Matrix Market" in strange.json()["hint"]
    marked = b"\xef\xbb\xbf%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 2.0\n"
    assert client.post("/v1/arrays", content=marked, headers=binary).json()["shape"] == [1, 1]


@pytest.mark.parametrize("case", load_cases("matrix_market"), ids=lambda case: case["id"])
def test_matrix_market_cases(client: httpx.Client, case: dict[str, Any]) -> None:
    content = (CASES / case["args"][0]["file"]).read_bytes()
    posted = upload(client, content, "application/x-matrix-market")
    if posted.status_code >= 400:
        assert posted.status_code in (413, 422)
        got: Any = RuntimeError(posted.text)
    else:
        value = client.get(posted.headers["location"] + "/data", params={"layout": "dense"}).json()
        shape = np.array(posted.json()["shape"])
        cells = complexed(value)
        got = {"shape": shape, "dense": cells, "expanded_nnz": posted.json().get("nse")}
        if "sum_Ax" in case["expect"].get("$fields", {}):
            product = cells @ (np.arange(1, shape[1] + 1) / shape[1])
            got |= {"sum_Ax": product.sum(), "Ax_first3": product[:3]}
    met, why = corpus.compare_case(case, got)
    assert met, why


def complexed(document: Any) -> np.ndarray:
    """A dense document, complex numbers read from their interleaved parts."""
    if isinstance(document, dict) and document["dtype"].startswith("complex"):
        return np.array(document["data"]).view(complex).reshape(document["shape"])
    return dense(document)


@pytest.mark.parametrize(
    ("content", "media"),
    [
        (b"", "application/json"),
        (b"\x93NUMPY\x01\x00", "application/x-npy"),
        (b"PK\x03\x04 not a zip", "application/zip"),
        (b"\x1f\x8b not gzip", "application/gzip"),
        (b"%%MatrixMarket matrix coordinate real general\n9 9 900000000000\n", "text/x"),
        (
            b"%%MatrixMarket matrix coordinate real general\n999999999 999999999 1\n1 1 2.0\n",
            "text/x-matrix-market",
        ),
        (
            b'{"layout":"csr","shape":[2,2],"indptr":[0,1,9],"indices":[0],"values":[1]}',
            "",
        ),
        (b'{"a": [1.0]}', "application/json"),
        (b'{"ref": "arr_0"}', "application/json"),
    ],
)
def test_hostile_files_are_refused(client: httpx.Client, content: bytes, media: str) -> None:
    answer = upload(client, content, media)
    assert answer.status_code in (413, 422), answer.text
    assert answer.headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize("kind", ["npy", "npz"])
@pytest.mark.parametrize("content", [b"", b"\xd3\xff no array", b"[1.0, 2.0]"])
def test_a_damaged_file_is_told_of_as_the_file_it_is_said_to_be(
    client: httpx.Client, kind: str, content: bytes
) -> None:
    detail = upload(client, content, f"application/x-{kind}").json()["detail"]
    assert f".{kind}" in detail
    assert "JSON" not in detail


def test_a_pickle_in_an_npy_or_npz_is_never_loaded(client: httpx.Client) -> None:
    for save in (np.save, np.savez):
        file = io.BytesIO()
        save(file, np.array([print], dtype=object), allow_pickle=True)
        assert upload(client, file.getvalue()).status_code == 422
