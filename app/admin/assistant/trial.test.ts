import { expect, test } from "vitest";
import { turnsOf } from "./trial.tsx";

test("each line is a turn; those of the assistant begin with >", () => {
  expect(turnsOf("I like silk.\n> Noted.\n\n  >And lace? \n>\nNo.")).toEqual([
    { role: "user", text: "I like silk." },
    { role: "assistant", text: "Noted." },
    { role: "assistant", text: "And lace?" },
    { role: "user", text: "No." },
  ]);
});
