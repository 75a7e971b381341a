export { addImage, addOwner, type TestOwner } from "./add-owner.ts";
export { addNode, localOffers, type TestNode } from "./add-node.ts";
export { addJob, insertJob, testQueue, type TestJob } from "./jobs.ts";
export { findBrokenInvariants } from "./check-invariants.ts";
export { readJob, readStory, until, untilAll } from "./read.ts";
export { addServer, type TestServer } from "./add-server.ts";
export { loseNode } from "./lose-node.ts";
