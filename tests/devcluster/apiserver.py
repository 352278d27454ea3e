"""The API server of a control plane: started, taken away, and started again."""

from dataclasses import dataclass
from pathlib import Path
from signal import Signals

import yaml

from tests.devcluster import audit, components
from tests.devcluster.api import BROKEN
from tests.devcluster.components import Flags, Keys
from tests.devcluster.installation import Installation
from tests.devcluster.options import Options


@dataclass(frozen=True, slots=True)
class ApiServer:
    """The kube-apiserver of an installation."""

    installation: Installation
    keys: Keys
    options: Options

    @property
    def audit_log(self) -> Path:
        """Its audit log, with the option `audit`."""
        return self.installation.directory / "audit.log"

    def start(self) -> None:
        """Start it, at the same address as before; returns when it is ready."""
        self.installation.run("kube-apiserver", self.flags(), self.options.apiserver)
        self.installation.wait(self.is_ready, "kube-apiserver", "to become ready")

    def stop(self, signal: Signals = Signals.SIGKILL) -> None:
        """Take it away; everything else stays."""
        self.installation.guardian.stop("kube-apiserver", signal)
        self.installation.api.hang_up()

    def restart(self) -> None:
        """Crash it and start it again."""
        self.stop()
        self.start()

    def is_ready(self) -> bool:
        """Ask it."""
        try:
            return self.installation.api.exists("/readyz")
        except BROKEN:
            return False

    def flags(self) -> Flags:
        """Return its flags, those of the options left out; writes its audit policy."""
        flags = components.apiserver(self.installation.endpoint, self.keys)
        if self.options.nodes:
            flags |= components.attentive()[0]
        if self.options.audit:
            policy = self.installation.directory / "audit.yaml"
            policy.write_text(yaml.safe_dump(audit.POLICY))
            flags |= components.audit(policy, self.audit_log)
        return flags
