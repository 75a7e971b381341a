import { createPostgresBackend, withBackend, Worker } from "bullmq";

/** A stock BullMQ worker that takes one job and never ends it; `recovery.ts` kills it. Arguments: backend, address, queue. */
const [backend, url = "", queue = ""] = process.argv.slice(2);

const hang = () =>
  new Promise<never>(() => {
    process.stdout.write("started\n");
  });

if (backend === "redis") {
  new Worker(queue, hang, { connection: { url, maxRetriesPerRequest: null } }).on("error", () => {});
} else {
  const connection = { connectionString: url, max: 3 };
  new (withBackend(createPostgresBackend).Worker)(queue, hang, { connection }).on("error", () => {});
}
