import type { Processor, Queue, Worker, WorkerOptions } from "bullmq";

/** What BullMQ needs to carry bells over one kind of server. */
export interface BellBackend {
  /** True while a connection that was there before is lost. */
  isAway(): boolean;
  openQueue(name: string): QueueHandle;
  openWorker(name: string, onBell: Processor, options: Omit<WorkerOptions, "connection">): WorkerHandle;
  ping(): Promise<void>;
  close(): Promise<void>;
}

export type QueueHandle = Pick<Queue, "add" | "addBulk" | "close"> & Pick<NodeJS.EventEmitter, "on">;

export interface WorkerHandle {
  readonly worker: Pick<Worker, "close" | "concurrency"> & Pick<NodeJS.EventEmitter, "on">;
  /** Cuts the connections of the worker, whether it could close in order or not. */
  readonly disconnect: () => void;
}
