import { globSync, readFileSync } from "node:fs";
import path from "node:path";

export interface PhysicalSide {
  readonly file: string;
  readonly line: number;
  /** As it is written. */
  readonly found: string;
  readonly instead: string;
}

/** Where left and right are places on a picture or in the window, or the side that an arrow key points to. */
const places = [/^app\/edit\//, /^app\/gallery\/viewer\/picture\.tsx$/, /^app\/ui\/tooltip-box\.tsx$/];

const logical: Readonly<Record<string, string>> = {
  ml: "ms",
  mr: "me",
  pl: "ps",
  pr: "pe",
  left: "inset-s",
  right: "inset-e",
  "scroll-ml": "scroll-ms",
  "scroll-mr": "scroll-me",
  "scroll-pl": "scroll-ps",
  "scroll-pr": "scroll-pe",
  "border-l": "border-s",
  "border-r": "border-e",
  "rounded-l": "rounded-s",
  "rounded-r": "rounded-e",
  "rounded-tl": "rounded-ss",
  "rounded-tr": "rounded-se",
  "rounded-bl": "rounded-es",
  "rounded-br": "rounded-ee",
  "text-left": "text-start",
  "text-right": "text-end",
  "float-left": "float-start",
  "float-right": "float-end",
};

/** A class of Tailwind, with what it begins with: `-ml-2`, `wide:pr-4`, `border-l`. `left-1/2` is the middle. */
const physicalClass =
  /(?<=["'`\s:!])-?(?:(ml|mr|pl|pr|scroll-[mp][lr])-[\w.[(]|(left|right)-(?!1\/2)[\w.[(]|((?:border|rounded)-(?:[lr]|[tb][lr])|(?:text|float)-(?:left|right))(?=["'`\s-]))/g;
const physicalProperty =
  /(?<![\w-])(margin|padding|border|scroll-margin|scroll-padding)-(left|right)(?=\s*:|-\w+\s*:)/g;

const isComment = (line: string) => /^\s*(\*|\/[/*])/.test(line);

function inClasses(line: string) {
  return [...line.matchAll(physicalClass)].map(([found, box, inset, whole]) => ({
    found: found.replace(/[\w.[(]$/, (last) => (whole === undefined ? `${last}…` : last)),
    instead: logical[box ?? inset ?? whole ?? ""] ?? "",
  }));
}

function inProperties(line: string) {
  return [...line.matchAll(physicalProperty)].map(([found, property = "", side]) => ({
    found,
    instead: `${property}-inline-${side === "left" ? "start" : "end"}`,
  }));
}

/** Styles that name left or right where start and end belong, so that a language which runs from the right only turns around. */
export function findPhysicalSides(rootDir: string): PhysicalSide[] {
  const files = globSync("app/**/*.{tsx,ts,css}", { cwd: rootDir }).toSorted();
  return files
    .filter((file) => !/\.test\.tsx?$/.test(file) && !places.some((place) => place.test(file)))
    .flatMap((file) => {
      const find = file.endsWith(".css") ? inProperties : inClasses;
      return readFileSync(path.join(rootDir, file), "utf8")
        .split("\n")
        .flatMap((line, index) =>
          isComment(line) ? [] : find(line).map((side) => ({ file, line: index + 1, ...side })),
        );
    });
}
