"""`make manifests`: what it prints, with a helm that is none and without one."""

from pathlib import Path

import pytest

from deploy import render


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in place of deploy/, and no programs."""
    (tmp_path / "deploy" / "manifests").mkdir(parents=True)
    made = tmp_path / "deploy" / "metrics.yaml"
    monkeypatch.setattr(render, "HERE", tmp_path / "deploy")
    monkeypatch.setattr(render, "files", lambda: {made: "- flux_jobs\n"})
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.delenv("KUBEBUILDER_ASSETS", raising=False)
    return tmp_path


def test_each_file_is_named(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "bin").mkdir()
    helm = folder / "bin" / "helm"
    helm.write_text("#!/bin/sh\necho 'kind: Rendered'\n")
    helm.chmod(0o755)
    render.main()
    assert capsys.readouterr().out.splitlines() == [
        "wrote deploy/metrics.yaml",
        "wrote deploy/manifests/crd.yaml",
        "wrote deploy/manifests/install.yaml",
        "wrote deploy/manifests/namespaced.yaml",
    ]
    assert (folder / "deploy" / "manifests" / "install.yaml").read_text().endswith("kind: Rendered\n")


def test_without_helm_and_go_it_names_what_is_missing(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        render.main()
    assert caught.value.code == (
        "deploy/manifests needs helm: put it on PATH, or Go, which builds it;"
        " helm: $KUBEBUILDER_ASSETS is not set; PATH has no helm; there is no go on PATH to build them with"
    )
    assert capsys.readouterr().out == "wrote deploy/metrics.yaml\n"
    assert (folder / "deploy" / "metrics.yaml").read_text() == "- flux_jobs\n"
