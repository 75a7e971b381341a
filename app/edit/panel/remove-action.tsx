"use client";
import { Eraser } from "lucide-react";
import { useTranslations } from "next-intl";
import { useCapability } from "../../client/queries.ts";
import { Button } from "../../ui/button.tsx";
import { hasPaint, type StrokeHistory } from "../mask.ts";
import { type ActionProps, ActionRow } from "./action-row.tsx";
import { useInpaint } from "../inpaint-actions.tsx";

interface Props extends ActionProps {
  readonly history: StrokeHistory;
}

export function RemoveAction({ image, history, isBusy, onJob }: Props) {
  const t = useTranslations("edit");
  const remove = useInpaint(image, onJob);
  const capability = useCapability("inpaint");
  const isMarked = hasPaint(history);
  return (
    <ActionRow hint={capability?.reason ?? (isMarked ? null : t("removeHint"))}>
      <Button
        look="primary"
        disabled={isBusy || remove.isPending || !isMarked || capability?.available === false}
        onClick={() => remove.mutate({ strokes: history.strokes })}
      >
        <Eraser aria-hidden />
        {t("removeObject")}
      </Button>
    </ActionRow>
  );
}
