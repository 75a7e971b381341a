"use client";
import { useTranslations } from "next-intl";
import { Button } from "../../ui/button.tsx";
import { Kbd } from "../../ui/kbd.tsx";
import { Slider } from "../../ui/slider.tsx";
import { brushLimits, type EditorSession } from "../use-editor.ts";

export function BrushOptions({ session }: { readonly session: EditorSession }) {
  const t = useTranslations("edit");
  const { brush, setSize, history, step } = session;
  return (
    <section aria-labelledby="brush-options" className="flex flex-col gap-1">
      <div className="flex items-center justify-between">
        <h2 id="brush-options" className="text-xs font-medium">
          {t("brushSize")}
        </h2>
        <span className="tabular flex items-center gap-2 text-xs text-quiet">
          <span className="hidden sm:pointer-fine:inline">
            <Kbd keys="[ ]" />
          </span>
          {`${brush.sizePx} px`}
        </span>
      </div>
      <Slider label={t("brushSize")} value={brush.sizePx} {...brushLimits} onChange={setSize} />
      <Button
        look="quiet"
        size="small"
        className="-ml-2.5 self-start"
        disabled={history.strokes.length === 0}
        onClick={() => step({ type: "clear" })}
      >
        {t("clearMask")}
      </Button>
    </section>
  );
}
