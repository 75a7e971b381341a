/** Host, port and path of a server's address, as owners of jobs see it. */
export function serverLabel(url: string): string {
  return url.replace(/^https?:\/\//, "");
}
