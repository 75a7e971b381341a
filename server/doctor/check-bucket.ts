import { failed, passed, reasonOf, type CheckResult } from "./check-result.ts";
import type { Env } from "../platform/index.ts";

const timeoutMs = 5_000;

type S3Env = Pick<
  Env,
  "S3_ENDPOINT" | "S3_REGION" | "S3_BUCKET" | "S3_ACCESS_KEY_ID" | "S3_SECRET_ACCESS_KEY"
>;

async function openClient(env: S3Env) {
  const { S3Client } = await import("@aws-sdk/client-s3");
  const { S3_ACCESS_KEY_ID: accessKeyId, S3_SECRET_ACCESS_KEY: secretAccessKey } = env;
  return new S3Client({
    region: env.S3_REGION ?? "us-east-1",
    ...(env.S3_ENDPOINT ? { endpoint: env.S3_ENDPOINT, forcePathStyle: true } : {}),
    ...(accessKeyId && secretAccessKey ? { credentials: { accessKeyId, secretAccessKey } } : {}),
    maxAttempts: 1,
  });
}

/** Whether the bucket is there and these keys may use it. */
export async function checkBucket(env: S3Env): Promise<CheckResult> {
  const { HeadBucketCommand } = await import("@aws-sdk/client-s3");
  const client = await openClient(env);
  const command = new HeadBucketCommand({ Bucket: env.S3_BUCKET });
  try {
    await client.send(command, { abortSignal: AbortSignal.timeout(timeoutMs) });
    return passed("S3_BUCKET", `${env.S3_BUCKET} answers`);
  } catch (error) {
    const advice = "check that the bucket exists and what S3_ENDPOINT and the keys say";
    return failed("S3_BUCKET", `${env.S3_BUCKET} cannot be used (${reasonOf(error)}); ${advice}`);
  } finally {
    client.destroy();
  }
}
