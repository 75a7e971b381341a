import type { EngineTask } from "../port.ts";
import type { CallOptions, IopaintServer } from "./index.ts";

/** One request to a server and what becomes of its answer. */
export interface IopaintRun {
  /** Sends the request; a good answer is a picture. */
  request(server: IopaintServer, options: CallOptions): Promise<Buffer>;
  /** Checks the answer and writes the result as PNG to `file`. */
  finish(answer: Buffer, file: string): Promise<void>;
}

/** Reads the inputs and says what is to be sent. Throws what is wrong with the inputs before any server is taken. */
export type PrepareRun = (task: EngineTask) => Promise<IopaintRun>;
