import Renderer from "markdown-to-jsx/react";
import { type AnchorHTMLAttributes, Fragment, type HTMLAttributes, type ImgHTMLAttributes } from "react";

/** The markdown of a model as React elements: no HTML of the model is ever parsed, and nothing is loaded from elsewhere. */
export default function Markdown({ text }: { text: string }) {
  return (
    <div className="markdown">
      <Renderer options={options}>{text}</Renderer>
    </div>
  );
}

const options = {
  disableParsingRawHTML: true,
  forceBlock: true,
  wrapper: Fragment,
  overrides: {
    a: { component: OutsideLink },
    img: { component: ImageLink },
    ...Object.fromEntries(["h1", "h2", "h3", "h4", "h5", "h6"].map((name) => [name, { component: Heading }])),
  },
};

function OutsideLink({ href, children }: AnchorHTMLAttributes<HTMLAnchorElement>) {
  if (href === undefined || !/^(https?|mailto):/i.test(href)) return <span>{children}</span>;
  return (
    <a href={href} target="_blank" rel="noreferrer">
      {children}
    </a>
  );
}

/** An image would be fetched from another host, which would learn of the reader. */
function ImageLink({ src, alt }: ImgHTMLAttributes<HTMLImageElement>) {
  return <OutsideLink href={typeof src === "string" ? src : undefined}>{alt || "image"}</OutsideLink>;
}

/** No heading of the page, and without an id that could be one of the page's. */
function Heading({ children }: HTMLAttributes<HTMLHeadingElement>) {
  return (
    <p>
      <strong>{children}</strong>
    </p>
  );
}
