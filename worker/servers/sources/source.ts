import type { ServerAddress } from "../address.ts";
import type { ServerEngine } from "../server-state.ts";

/** A server as one source tells of it. */
export interface ListedServer extends ServerAddress {
  readonly engine: ServerEngine;
  /** Jobs in proportion to it, where several are free. */
  readonly weight: number;
  /** Taken only where no other is free. */
  readonly isBackup: boolean;
  /** The source wants it to take nothing new. */
  readonly isDrained: boolean;
}

/** Told of each entry of a list that cannot be read and is passed over. */
export type Refuse = (reason: string) => void;

/** Something that lists servers. */
export interface Source {
  /** Without credentials; shown to the admin. */
  readonly name: string;
  /** The whole list; throws when it cannot be had, and the caller keeps the last one. */
  read(signal: AbortSignal, refuse: Refuse): Promise<readonly ListedServer[]>;
}
