import { setTimeout as sleep } from "node:timers/promises";
import type { RunFault } from "../faults.ts";
import { cpuOutOfMemory, gpuOutOfMemory, Interrupted, NodeFailure, SessionEnded } from "../nodes/call.ts";
import { steppedClasses } from "../nodes/runners.ts";
import { faultOf, hold, type Run } from "./run.ts";

const lostCardText =
  "CUDA error: an illegal memory access was encountered\nCUDA kernel errors might be asynchronously reported at some other API call.\n";
const triedBytes = 2 * 1024 ** 3;

/** Lets the faults strike that sit at this node, before it works. */
export async function strikeFaults(run: Run, nodeId: string): Promise<void> {
  for (const fault of run.faults) {
    if (!isInNode(fault) || targetOf(run, fault.nodeClass) !== nodeId) continue;
    const failure = failureOf(fault);
    if (failure) throw failure;
    if (fault.kind === "slow-node") await sleepInSession(run, fault.ms);
    if (fault.kind === "hold") await hold(run);
    if (fault.kind === "hang") await hang(run, fault.deaf === true);
    if (fault.kind === "socket-drop" && !isStepped(run, nodeId)) dropSocket(run, fault.refuse === true);
  }
}

function failureOf(fault: NodeOfFault): NodeFailure | null {
  switch (fault.kind) {
    case "gpu-out-of-memory":
      return gpuOutOfMemory();
    case "cpu-out-of-memory":
      return cpuOutOfMemory(triedBytes);
    case "node-error":
      return new NodeFailure(fault.exceptionType ?? "RuntimeError", fault.message ?? "a fault was injected");
    case "card-lost":
      return new NodeFailure("torch.AcceleratorError", lostCardText);
    case "execution-blocked":
      return new NodeFailure("ExecutionBlocked", "Execution Blocked");
    case "slow-node":
    case "hang":
    case "hold":
    case "socket-drop":
      return null;
  }
}

/** Cuts the owner's socket half way through a node that works in steps. */
export function strikeAtStep(run: Run, nodeId: string, share: number): void {
  const fault = faultOf(run, "socket-drop");
  if (fault && share >= 0.5 && targetOf(run, fault.nodeClass) === nodeId) {
    dropSocket(run, fault.refuse === true);
  }
}

/** Waits; throws SessionEnded as soon as the server restarts. */
export async function sleepInSession({ session }: Run, ms: number): Promise<void> {
  try {
    await sleep(ms, undefined, { signal: session.end.signal });
  } catch {
    throw new SessionEnded();
  }
}

type NodeOfFault = Extract<RunFault, { nodeClass?: string }>;

function isInNode(fault: RunFault): fault is NodeOfFault {
  return fault.kind !== "socket-silent" && fault.kind !== "socket-no-end" && fault.kind !== "history-late";
}

function targetOf(run: Run, nodeClass: string | undefined): string | undefined {
  const classOf = (nodeId: string) => run.item.graph[nodeId]?.class_type ?? "";
  if (nodeClass) return run.order.find((nodeId) => classOf(nodeId) === nodeClass);
  return run.order.find((nodeId) => isStepped(run, nodeId)) ?? run.order[0];
}

function isStepped(run: Run, nodeId: string): boolean {
  return steppedClasses.includes(run.item.graph[nodeId]?.class_type ?? "");
}

function dropSocket(run: Run, isRefused: boolean): void {
  const { clientId } = run.item;
  if (clientId === null) return;
  if (isRefused) run.session.refusedClients.add(clientId);
  run.session.clients.get(clientId)?.socket.terminate();
}

async function hang(run: Run, isDeaf: boolean): Promise<void> {
  const { session, item } = run;
  const ends = isDeaf ? [session.end.signal] : [session.end.signal, item.interrupt.signal];
  const ended = AbortSignal.any(ends);
  if (!ended.aborted)
    await new Promise((resolve) => ended.addEventListener("abort", resolve, { once: true }));
  throw session.end.signal.aborted ? new SessionEnded() : new Interrupted();
}
