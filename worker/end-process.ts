const lingerMs = 2_000;

/**
 * For the end of a process that has closed all of its own: it ends by itself, or after two seconds although something
 * still waits. BullMQ's PostgreSQL backend leaves timers behind when its connections were cut (seen after "too many clients").
 */
export function endProcess(): void {
  setTimeout(() => process.exit(), lingerMs).unref();
}
