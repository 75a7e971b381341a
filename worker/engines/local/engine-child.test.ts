import { AppError } from "@atelier/server/platform";
import { describe, expect, it } from "vitest";
import { packError } from "./engine-child.ts";

function thrownBy(work: () => unknown): unknown {
  try {
    return work();
  } catch (error) {
    return error;
  }
}

describe("errors on their way out of the child", () => {
  it("D8: memory that could not be had for an array is out_of_memory", () => {
    const thrown = thrownBy(() => new ArrayBuffer(Number.MAX_SAFE_INTEGER));
    expect(thrown).toBeInstanceOf(RangeError);
    expect(packError(thrown)).toMatchObject({ code: "out_of_memory" });
    const coded = Object.assign(new Error("no memory"), { code: "ERR_MEMORY_ALLOCATION_FAILED" });
    expect(packError(coded)).toMatchObject({ code: "out_of_memory" });
  });

  it("D8: other ranges and anything unforeseen are engine_failed, an AppError keeps its code", () => {
    const thrown = thrownBy(() => "a".repeat(-1));
    expect(thrown).toBeInstanceOf(RangeError);
    expect(packError(thrown)).toMatchObject({ code: "engine_failed" });
    expect(packError("a text")).toMatchObject({ code: "engine_failed" });
    expect(packError(new AppError("mask_empty"))).toMatchObject({ code: "mask_empty" });
  });
});
