/** What a node raises: ends the prompt with `execution_error`. */
export class NodeFailure extends Error {
  readonly exceptionType: string;

  constructor(exceptionType: string, message: string) {
    super(message);
    this.exceptionType = exceptionType;
  }
}

/** The prompt was interrupted. */
export class Interrupted extends Error {}

/** The server restarted under the prompt: nobody is told. */
export class SessionEnded extends Error {}

/** What a card says that is full. */
export function gpuOutOfMemory(): NodeFailure {
  const torch =
    "CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 23.64 GiB of which 512.00 MiB is free.";
  const tip =
    "This error means you ran out of memory on your GPU.\n\nTIPS: If the workflow worked before you might have accidentally set the batch_size to a large number.";
  return new NodeFailure("torch.OutOfMemoryError", `${torch}\n${tip}`);
}

/** What a server without a card says when it cannot get this much. */
export function cpuOutOfMemory(sizeBytes: number): NodeFailure {
  const place = "[enforce fail at alloc_cpu.cpp:75] err == 0. DefaultCPUAllocator: can't allocate memory:";
  const tried = `you tried to allocate ${sizeBytes} bytes. Error code 12 (Cannot allocate memory)`;
  return new NodeFailure("RuntimeError", `${place} ${tried}`);
}

export function diskFull(path: string): NodeFailure {
  return new NodeFailure("OSError", `[Errno 28] No space left on device: '${path}'`);
}
