/** `7 s`, `1:05 min`, `2:03:09 h`. */
export function formatSeconds(seconds: number): string {
  const pad = (value: number) => String(value).padStart(2, "0");
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes}:${pad(seconds % 60)} min`;
  return `${Math.floor(minutes / 60)}:${pad(minutes % 60)}:${pad(seconds % 60)} h`;
}
