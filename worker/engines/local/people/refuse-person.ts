import { AppError } from "@atelier/server/platform";

export function refusePerson(message: string, { gate, score }: { gate: string; score: number }): AppError {
  return new AppError("person_unsuitable", message, {
    details: { gate, score: Math.round(score * 1_000) / 1_000 },
  });
}
