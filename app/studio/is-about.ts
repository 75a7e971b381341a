import type { JobView } from "@atelier/server/jobs";
import type { OfferedWorkflow } from "../data/use-workflows.ts";
import { categoriesOf } from "./outfit-request.ts";
import type { Category } from "./studio-store.ts";

export interface Table {
  readonly personId: string | null;
  readonly garmentId: string | null;
  readonly category: Category;
  /** null: the engine of this computer, called `name`. */
  readonly chosen: OfferedWorkflow | null;
  readonly name: string;
  readonly words: string;
  /** What the marks were sent as; null when they were not, undefined where no marks go along. */
  readonly maskId: string | null | undefined;
}

type Asked = Pick<JobView, "inputs" | "params" | "workflow" | "engine">;

/** Whether a job was about exactly what lies on the table. */
export function isAbout({ inputs, params, workflow, engine }: Asked, table: Table): boolean {
  const inputOf = (role: string) => inputs.find((input) => input.role === role)?.imageId;
  const category = categoriesOf(table.chosen).includes(table.category) ? table.category : "auto";
  return (
    inputOf("person") === table.personId &&
    inputOf("garment") === table.garmentId &&
    inputOf("mask") === table.maskId &&
    params.category === category &&
    (workflow ?? engine) === table.name &&
    (params.prompt ?? "") === table.words
  );
}
