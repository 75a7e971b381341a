export { type FaultyS3, listOf, type S3Fault, startFaultyS3 } from "./faults.ts";
export { type S3Env, startS3, type TestS3 } from "./s3.ts";
