"use client";
import type { ImageView } from "@atelier/server/images";
import { useState } from "react";
import { remixHref } from "../../data/remix-href.ts";
import { useIsGone } from "../../data/use-is-gone.ts";
import { useSourceImage } from "./use-source-image.ts";
import type { ViewerAddress } from "./use-viewer-address.ts";
import { useViewerKeys } from "./use-viewer-keys.ts";
import { ViewerInfo } from "./info.tsx";
import { ViewerPicture } from "./picture.tsx";
import { ViewerToolbar } from "./toolbar.tsx";

interface Props {
  readonly image: ImageView;
  readonly images: readonly ImageView[];
  readonly grows: boolean;
  readonly address: ViewerAddress;
}

export function ViewerRoom({ image, images, grows, address }: Props) {
  const [comparedId, setComparedId] = useState<string | null>(null);
  const isComparing = comparedId === image.id;
  const [isInfoOpen, setInfoOpen] = useState(false);
  const { job, sourceId } = useSourceImage(image);
  const isSourceGone = useIsGone(sourceId);
  const at = images.findIndex((one) => one.id === image.id);
  const previous = at > 0 ? images[at - 1]?.id : undefined;
  const next = at === -1 ? undefined : images[at + 1]?.id;
  const neighbour = next ?? previous;
  const afterRemoval = () => (neighbour === undefined ? address.close() : address.move(neighbour));
  const step = (by: number) => {
    const from = images.findIndex((one) => one.id === address.currentId());
    const to = from === -1 ? undefined : images[from + by]?.id;
    if (to !== undefined) address.move(to);
  };
  useViewerKeys({ image, onStep: step, onRemoved: afterRemoval });
  return (
    <>
      <div className="flex min-h-0 min-w-0 flex-1 flex-col">
        <ViewerToolbar
          image={image}
          place={at === -1 ? null : { number: at + 1, count: images.length }}
          remix={job === undefined || isSourceGone ? null : remixHref(image.id, job)}
          canCompare={sourceId !== null}
          isComparing={isComparing}
          isInfoOpen={isInfoOpen}
          onCompare={() => setComparedId(isComparing ? null : image.id)}
          onInfo={() => setInfoOpen((on) => !on)}
          onClose={address.close}
          onRemoved={afterRemoval}
        />
        <ViewerPicture
          image={image}
          compareWith={isComparing ? sourceId : null}
          grows={grows}
          previous={previous}
          next={next}
          onMove={address.move}
        />
      </div>
      {isInfoOpen ? <ViewerInfo key={image.id} image={image} /> : null}
    </>
  );
}
