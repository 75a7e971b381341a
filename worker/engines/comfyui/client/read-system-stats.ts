import { z } from "zod";
import { foreignBytes, foreignText } from "@atelier/server/platform";
import { ask, jsonOf } from "./ask.ts";
import type { CallOptions, ComfyServer } from "./comfy-server.ts";

export interface ComfyDevice {
  readonly name: string;
  /** Such as `cuda`, `mps` or `cpu`; of a CPU the memory is that of the machine. */
  readonly type: string;
  readonly vramTotalBytes: number;
  readonly vramFreeBytes: number;
}

export interface SystemStats {
  readonly version: string | null;
  readonly ramTotalBytes: number | null;
  readonly ramFreeBytes: number | null;
  /** The primary one first. */
  readonly devices: readonly ComfyDevice[];
}

const systemStatsSchema = z.object({
  system: z.object({
    comfyui_version: foreignText.nullish(),
    ram_total: foreignBytes.nullish(),
    ram_free: foreignBytes.nullish(),
  }),
  devices: z.array(
    z.object({ name: foreignText, type: foreignText, vram_total: foreignBytes, vram_free: foreignBytes }),
  ),
});

/** Version and memory of the server; the cheapest sign that it is a ComfyUI server and alive. */
export async function readSystemStats(server: ComfyServer, options: CallOptions): Promise<SystemStats> {
  const { system, devices } = jsonOf(await ask(server, { path: "system_stats" }, options), systemStatsSchema);
  return {
    version: system.comfyui_version ?? null,
    ramTotalBytes: system.ram_total ?? null,
    ramFreeBytes: system.ram_free ?? null,
    devices: devices.map(({ name, type, vram_total, vram_free }) => ({
      name,
      type,
      vramTotalBytes: vram_total,
      vramFreeBytes: vram_free,
    })),
  };
}
