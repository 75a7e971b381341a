"use client";
import { useWorkflows } from "../../data/use-workflows.ts";
import { usePersonMask } from "../mask/use-person-mask.ts";
import { useStudio } from "../use-studio.ts";
import { chooseOutfitEngine, localChoice, needsMask, takesMask } from "./choose-outfit-engine.ts";

/** With what the outfit of this person is changed, and what else there is. */
export function useOutfitEngine(personId: string | null) {
  const workflows = useWorkflows("outfit_change");
  const { engine, prompt } = useStudio();
  const { isPainted } = usePersonMask(personId);
  const { options, chosen } = chooseOutfitEngine({ workflows: workflows ?? [], wished: engine, isPainted });
  const takesWords = chosen?.params.prompt !== undefined;
  return {
    isKnown: workflows !== undefined,
    options,
    chosen,
    name: chosen?.name ?? localChoice,
    offersMask: options.some(takesMask),
    takesMask: takesMask(chosen),
    lacksMask: needsMask(chosen) && !isPainted,
    takesWords,
    words: takesWords ? prompt.trim() : "",
  };
}
