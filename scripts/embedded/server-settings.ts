/** Sized for a laptop: small shared memory, no helper processes that an image studio does not need. */
const settings = {
  listen_addresses: "127.0.0.1",
  unix_socket_directories: "",
  max_connections: "200",
  synchronous_commit: "on",
  shared_buffers: "32MB",
  huge_pages: "off",
  // The default starts three more processes that read ahead.
  io_method: "sync",
  jit: "off",
  max_parallel_workers_per_gather: "0",
  max_parallel_maintenance_workers: "0",
  autovacuum_max_workers: "2",
  wal_level: "minimal",
  max_wal_senders: "0",
  max_wal_size: "256MB",
  log_checkpoints: "off",
  log_timezone: "UTC",
  timezone: "UTC",
} as const;

/** Command-line arguments of the server; `extra` wins over the defaults. */
export function serverArgs(
  clusterDir: string,
  port: number,
  extra: Readonly<Record<string, string>>,
): string[] {
  const all = Object.entries({ ...settings, ...extra, port: String(port) });
  return ["-D", clusterDir, ...all.flatMap(([name, value]) => ["-c", `${name}=${value}`])];
}
