import type { Need } from "@atelier/server/engines";

export type ServerEngine = "comfyui" | "iopaint";

/** Only a healthy server is given jobs. Degraded: it answers, but its runs failed several times in a row. */
export type ServerCondition = "unknown" | "healthy" | "degraded" | "down" | "draining";

/** What a server lacks for one workflow, in words for the admin. */
export type MissingByWorkflow = Readonly<Record<string, readonly string[]>>;

/** What one probe found out. Sizes in bytes; null where nothing was heard of it yet. */
export interface ServerFacts {
  /** Type of its first device, such as `cuda` or `cpu`. */
  readonly device: string | null;
  readonly deviceName: string | null;
  readonly vramTotalBytes: number | null;
  readonly vramFreeBytes: number | null;
  readonly version: string | null;
  /** What it can run when it is healthy: `comfyui/<workflow>` or `iopaint/<kind>`. */
  readonly needs: readonly Need[];
  /** Model files of the kinds that the workflows use, as far as they are known. */
  readonly models: readonly string[];
  readonly missing: MissingByWorkflow;
  /** Jobs running and waiting on it, whoever sent them. */
  readonly queueLength: number | null;
}

/** What is known of one server, with the facts of its last good probe. */
export interface ServerState extends ServerFacts {
  /** Base address without credentials and without a slash at the end; tells servers apart. */
  readonly url: string;
  readonly engine: ServerEngine;
  /** Host and port (and path, if any) for people, such as `192.168.0.107:8188`. */
  readonly label: string;
  /** Names of the sources that list it; empty when it has vanished from all and only ends its job. */
  readonly sources: readonly string[];
  readonly state: ServerCondition;
  /** The job of this node that runs on it. */
  readonly jobId: string | null;
  /** Whether the next job could be given to it at this moment. */
  readonly isFree: boolean;
  /** Why it is not healthy, in words for the admin. */
  readonly lastError: string | null;
  /** Nothing listens at its address, so that no run of it is left either. */
  readonly refusesConnections: boolean;
  /** When it was last asked how it is. */
  readonly probedAt: Date | null;
}
