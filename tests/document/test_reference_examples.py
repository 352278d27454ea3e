"""The reference operator's own examples are accepted, but for those that its own schema refuses.

They are no part of this repository: `--reference-examples PATH` names their folder.
"""

import re
from pathlib import Path

import pytest

from minicluster.document import DocumentError, read

# In the folder's own names: the first line of what is said, and why that is right.
REFUSED = {
    "elasticity/horizontal-autoscaler/v2-custom-metric/minicluster.yaml": (
        'spec.containers[0].existingVolumes: unknown field; did you mean "volumes"?',
        "a field of an older version; its own schema has `volumes`",
    ),
    "experimental/bursting/broker-eks/minicluster-env.yaml": (
        "spec.interactive: given twice, first in line 10",
        "kubectl refuses a key that is given twice",
    ),
    "experimental/bursting/broker-eks/minicluster.yaml": (
        "spec.interactive: given twice, first in line 10",
        "kubectl refuses a key that is given twice",
    ),
    "experimental/shared-process-space/minicluster.yaml": (
        'spec.containers[0].securityContext.addCapabilities: unknown field; did you mean "capabilities"?',
        "a field of an older version; its own schema has Kubernetes' `capabilities`",
    ),
    **{
        f"machine-learning/{name}/minicluster.yaml": (
            'spec.volumes: unknown field; did you mean "spec.containers[].volumes"?',
            "a field of an older version; its own schema has it in the containers",
        )
        for name in ("fireworks", "mnist", "pytorch", "ray/scikit-learn", "tensorflow")
    },
}


@pytest.fixture(scope="module")
def examples(request: pytest.FixtureRequest) -> Path:
    """The folder with the reference's examples."""
    folder = request.config.getoption("--reference-examples")
    if not folder:
        pytest.skip("the reference's examples are not given (--reference-examples PATH)")
    return Path(folder)


def test_the_references_examples_are_accepted(examples: Path) -> None:
    """Every MiniCluster in the folder, but for the listed ones, each refused for the listed reason."""
    refused, accepted = {}, 0
    for path in sorted(examples.rglob("*.y*ml")):
        if re.search("^kind: MiniCluster$", path.read_text(), re.MULTILINE) is None:
            continue
        try:
            accepted += len(read(path).clusters)
        except DocumentError as error:
            problem = error.problems[0]
            refused[str(path.relative_to(examples))] = f"{problem.path}: {problem.message}"
    assert refused == {name: message for name, (message, _) in REFUSED.items()}
    assert accepted > 50
