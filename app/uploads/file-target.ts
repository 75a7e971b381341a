"use client";
import { useEffect } from "react";

type Take = (files: File[]) => void;

const targets: Take[] = [];

/** Where files go that are dropped on the page or pasted: the page that asked last. */
export function currentTarget(): Take | undefined {
  return targets.at(-1);
}

export function useFileTarget(take: Take): void {
  useEffect(() => {
    targets.push(take);
    return () => {
      targets.splice(targets.lastIndexOf(take), 1);
    };
  }, [take]);
}
