import path from "node:path";
import { findMisfiled } from "./check/find-misfiled.ts";
import { checkBrokenPage, checkPageWords } from "./check/find-page-words.ts";
import { findPhysicalSides } from "./check/find-physical-sides.ts";
import { findRoomCircles } from "./check/find-room-circles.ts";
import { findMissingPaths, findUnlistedRooms } from "./check/find-missing-paths.ts";
import { describeRun, runTool, type ToolRun } from "./process/tools.ts";

const tools: readonly (readonly [string, ...string[]])[] = [
  ["oxfmt", "--check", "."],
  ["oxlint"],
  // Writes what the types of a page are checked against; `next build` itself checks none.
  ["next", "typegen"],
  ["tsc", "--noEmit"],
  ["knip"],
];

const rootDir = path.resolve(import.meta.dirname, "..");

function checkFiles(): ToolRun {
  const startedMs = performance.now();
  const misfiled = findMisfiled(rootDir);
  for (const { file, reason } of misfiled) console.log(`${file} ${reason}`);
  return {
    name: "files",
    isOk: misfiled.length === 0,
    tookSeconds: (performance.now() - startedMs) / 1000,
  };
}

function checkRooms(): ToolRun {
  const startedMs = performance.now();
  const circles = findRoomCircles(rootDir);
  for (const { rooms, imports } of circles) {
    console.log(`${rooms.join(", ")} import each other; the shortest cut:`);
    for (const { file, target } of imports) console.log(`  ${file} imports ${target}`);
  }
  return { name: "rooms", isOk: circles.length === 0, tookSeconds: (performance.now() - startedMs) / 1000 };
}

function checkDocs(): ToolRun {
  const startedMs = performance.now();
  const missing = findMissingPaths(rootDir);
  for (const { document, line, path: named } of missing) {
    console.log(`${document}:${line} names ${named}, which does not exist`);
  }
  const unlisted = findUnlistedRooms(rootDir);
  for (const room of unlisted) console.log(`docs/architecture.md has no line for ${room} in its place`);
  const isOk = missing.length === 0 && unlisted.length === 0;
  return { name: "docs", isOk, tookSeconds: (performance.now() - startedMs) / 1000 };
}

function checkWords(): ToolRun {
  const startedMs = performance.now();
  const problems = [...checkPageWords(rootDir), ...checkBrokenPage(rootDir)];
  for (const problem of problems) console.log(problem);
  return { name: "words", isOk: problems.length === 0, tookSeconds: (performance.now() - startedMs) / 1000 };
}

function checkSides(): ToolRun {
  const startedMs = performance.now();
  const sides = findPhysicalSides(rootDir);
  for (const { file, line, found, instead } of sides)
    console.log(`${file}:${line} says ${found}: use ${instead}`);
  return { name: "sides", isOk: sides.length === 0, tookSeconds: (performance.now() - startedMs) / 1000 };
}

const runs: ToolRun[] = [];
for (const [name, ...args] of tools) {
  console.log(`\n> ${[name, ...args].join(" ")}`);
  runs.push(await runTool(name, args));
}
console.log("\n> one topic per file");
runs.push(checkFiles());
console.log("\n> rooms that import each other");
runs.push(checkRooms());
console.log("\n> paths named in documents");
runs.push(checkDocs());
console.log("\n> texts that pages carry");
runs.push(checkWords());
console.log("\n> start and end instead of left and right");
runs.push(checkSides());

console.log(`\n${runs.map(describeRun).join("\n")}`);
process.exitCode = runs.every(({ isOk }) => isOk) ? 0 : 1;
