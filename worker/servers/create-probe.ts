import type { Config } from "@atelier/server/platform";
import type { Workflow } from "@atelier/server/workflows";
import type { FoundServer } from "./merge-lists.ts";
import { createComfyuiProbe } from "./probe-comfyui.ts";
import { createIopaintProbe } from "./probe-iopaint.ts";
import type { ServerProbe } from "./server-probe.ts";

export interface ProbeSettings {
  readonly timing: Pick<Config["timing"], "probeTimeoutMs" | "objectInfoMs">;
  readonly workflows: () => readonly Workflow[];
}

export function createProbe({ engine, url, headers }: FoundServer, settings: ProbeSettings): ServerProbe {
  const { timing, workflows } = settings;
  const common = { server: { url, headers }, timeoutMs: timing.probeTimeoutMs };
  switch (engine) {
    case "comfyui":
      return createComfyuiProbe({ ...common, workflows, objectInfoMs: timing.objectInfoMs });
    case "iopaint":
      return createIopaintProbe(common);
  }
}
