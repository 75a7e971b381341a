/**
 * `atelier seed`: fills a studio for somebody who works on it, so that every page shows something: people, pictures, two
 * weeks of jobs, a job in every status, requests to providers, deliveries, talks with the assistant.
 *
 * Words: *seeded* is what belongs to an address of `seed.example`; *to play* a worker is to beat for its row without doing
 * its work.
 *
 * Not here: nothing calls a server. Pictures are drawn by code (`scenes.ts`), ship with the product, or are made by its own
 * engine (`local.ts`); providers, receivers and language models exist as rows only, with keys and addresses that no worker
 * can use. Rows are written as they are to be found, past the rules of the rooms that own them: no other command may.
 */
import type { Services } from "@atelier/server/services";
import { AppError, originOf } from "@atelier/server/platform";
import { withServices } from "../database.ts";
import { parseFlags } from "../flags.ts";
import { addBatch, addEveryStatus, addHistory } from "./history.ts";
import { addLocalJobs, makeLocally, uploadSamples } from "./local.ts";
import { addNodes, type Nodes, playNodes } from "./nodes.ts";
import { addPeople, hasOthersData, type People, removeSeeded, seedDomain } from "./people.ts";
import { addTalks } from "./talk.ts";
import { addBoards, addDeliveries, addLinks, addLogs } from "./told.ts";
import { addOutfits, fillWardrobe } from "./wardrobe.ts";

const usage = `Usage: atelier seed [--add] [--stay]
       atelier seed --remove
  --add     also on a studio in which others have pictures, jobs or talks
  --stay    keeps its workers alive until Ctrl+C; else their open jobs wait in the line once a worker looks
  --remove  deletes all that earlier calls made`;

/** Fills a studio without seeded data. */
async function fill(services: Services, nodes: Nodes): Promise<People> {
  const people = await addPeople(services);
  const ownerId = people.adminId;
  const uploads = await uploadSamples(services, ownerId);
  await fillWardrobe(services, ownerId, uploads);
  const [ended, made] = await Promise.all([addHistory(services, { people, nodes }), makeLocally(services)]);
  const jobs = await addLocalJobs(services, { ownerId, nodeId: nodes.plainId, uploads, made });
  await addOutfits(services, { ownerId, jobs });
  const batchId = await addBatch(services, { people, nodes });
  await addLinks(services, { ownerId, batchId, imageId: ended.at(-1)?.imageId });
  await addBoards(services, { ownerId, imageIds: ended.slice(-6).map(({ imageId }) => imageId) });
  const jobIds = ended.map(({ jobId }) => jobId).toReversed();
  await addDeliveries(services, { ownerId, endpointId: people.endpointId, jobIds });
  await addTalks(services, { ownerId, imageIds: ended.map(({ imageId }) => imageId) });
  const byStatus = await addEveryStatus(services, { people, nodes });
  const failedId = byStatus.get("failed");
  if (failedId) await addLogs(services, { jobId: failedId, nodeId: nodes.graphicsId });
  return people;
}

async function refuseOthersData(services: Services): Promise<void> {
  if (await hasOthersData(services))
    throw new AppError(
      "conflict",
      "Somebody has pictures, jobs or talks here. `--add` fills the studio beside them; try it on a copy first.",
    );
}

function untilInterrupted(): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  for (const name of ["SIGINT", "SIGTERM"] as const) process.once(name, () => resolve());
  return promise;
}

async function refill(services: Services, { stays }: { readonly stays: boolean }): Promise<void> {
  const removed = await removeSeeded(services);
  if (removed > 0) console.error(`Removed ${removed} people of an earlier call.`);
  const nodes = await addNodes(services);
  const over = new AbortController();
  // From the beginning: a worker that runs declares a node lost after seven seconds without a beat.
  const playing = playNodes(services, nodes, over.signal);
  try {
    const { password } = await fill(services, nodes);
    console.error(
      `Filled. Sign in at ${originOf(services.env)}/sign-in with ada@${seedDomain} and this password:`,
    );
    console.log(password);
    if (!stays) return;
    console.error("Its workers stay until Ctrl+C.");
    await untilInterrupted();
  } finally {
    over.abort();
    await playing;
  }
}

/** Returns the exit code. */
export async function seed(args: string[]): Promise<number> {
  const flag = { type: "boolean", default: false } as const;
  const flags = parseFlags({ args, options: { add: flag, stay: flag, remove: flag }, required: [], usage });
  if (!flags) return 1;
  return withServices(async (services) => {
    if (flags.remove) {
      console.error(
        `Removed ${await removeSeeded(services)} people with everything. Figures by the hour stay.`,
      );
      return;
    }
    if (!flags.add) await refuseOthersData(services);
    await refill(services, { stays: flags.stay });
  });
}
