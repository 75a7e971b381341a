const lingerMs = 2_000;

/**
 * For the end of a process that has closed all of its own: it ends by itself, or after two seconds although something
 * still waits. That was seen once after PostgreSQL had refused connections; what waited is not known.
 */
export function endProcess(): void {
  setTimeout(() => process.exit(), lingerMs).unref();
}
