"""Both kernel modes for every test that asks for ``kernels``."""

from __future__ import annotations

import jax
import pytest

from app.sparse.kernels import build, library

jax.config.update("jax_enable_x64", True)
jax.config.update("jax_disable_most_optimizations", True)


@pytest.fixture(params=["native", "portable"])
def kernels(request):
    """Trace with the C++ kernels, then with those in pure JAX."""
    if request.param == "portable":
        with library.portable():
            yield "portable"
    elif build.ensure() is None:
        pytest.skip("no C++ compiler here")
    else:
        assert library.native()
        yield "native"
