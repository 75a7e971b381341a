/** Whether a visitor without an account may use the studio; SIGN_UP is checked when the studio starts. */
export function letsGuestsIn(): boolean {
  // Read without the services: proxy.ts calls this before each page, and must not need a database.
  // oxlint-disable-next-line no-restricted-properties
  return (process.env["SIGN_UP"]?.trim() || "open") === "open";
}

/** The session cookie of better-auth, with or without the prefix of secure cookies. */
export const sessionCookie = /atelier\.session_token$/;

/** Whether pages get pictures from the bucket, too. */
export function givesLinks(): boolean {
  // Read without the services, for the same reason.
  // oxlint-disable-next-line no-restricted-properties
  return process.env["S3_DOWNLOADS"]?.trim() === "link";
}

/** Where pages send pictures to: the origin of the bucket; null when pictures are files of the studio. */
export function bucketOrigin(): string | null {
  // Read without the services, for the same reason.
  // oxlint-disable-next-line no-restricted-properties
  const { S3_BUCKET, S3_PUBLIC_ENDPOINT, S3_ENDPOINT, S3_REGION } = process.env;
  if (!S3_BUCKET?.trim()) return null;
  const endpoint = S3_PUBLIC_ENDPOINT?.trim() || S3_ENDPOINT?.trim();
  if (endpoint) return new URL(endpoint).origin;
  const region = S3_REGION?.trim() || "us-east-1";
  return `https://s3.${region}.amazonaws.com${region.startsWith("cn-") ? ".cn" : ""}`;
}
