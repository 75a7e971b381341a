import { AppError } from "@atelier/server/platform";

export interface Gate {
  /** Key of the gate, for programs. */
  readonly gate: string;
  readonly score: number;
}

export function refuseGarment(message: string, { gate, score }: Gate): AppError {
  return new AppError("garment_unsuitable", message, {
    details: { gate, score: Math.round(score * 1_000) / 1_000 },
  });
}
