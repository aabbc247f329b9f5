import Renderer from "markdown-to-jsx/react";
import {
  type AnchorHTMLAttributes,
  Fragment,
  type HTMLAttributes,
  isValidElement,
  type ReactNode,
  type TableHTMLAttributes,
} from "react";
import { Link } from "wouter";
import { Code } from "../../kit/copy.tsx";
import { toAnchor, toHelpAddress } from "./pages.ts";

/** The text of a page of the documentation. Its images are in the repository alone. */
export default function HelpText({ page, text }: { page: string; text: string }) {
  return (
    <div className="markdown help-text">
      <Renderer
        options={{
          disableParsingRawHTML: true,
          forceBlock: true,
          wrapper: Fragment,
          slugify: toAnchor,
          overrides: {
            a: { component: HelpLink, props: { page } },
            img: { component: NoImage },
            pre: { component: Example },
            table: { component: ScrolledTable },
          },
        }}
      >
        {text}
      </Renderer>
    </div>
  );
}

function HelpLink({ href = "", page, children }: AnchorHTMLAttributes<HTMLAnchorElement> & { page: string }) {
  const address = toHelpAddress(href, page);
  if (address.startsWith("/")) return <Link href={address}>{children}</Link>;
  if (address.startsWith("#")) return <a href={address}>{children}</a>;
  return (
    <a href={address} target="_blank" rel="noreferrer">
      {children}
    </a>
  );
}

function NoImage() {
  return null;
}

function Example({ children }: HTMLAttributes<HTMLPreElement>) {
  return <Code text={toText(children).trimEnd()} label="example" />;
}

function toText(node: ReactNode): string {
  if (Array.isArray(node)) return node.map(toText).join("");
  if (isValidElement<{ children?: ReactNode }>(node)) return toText(node.props.children);
  return typeof node === "string" || typeof node === "number" ? String(node) : "";
}

function ScrolledTable({ children }: TableHTMLAttributes<HTMLTableElement>) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable regions must be reachable by keyboard
    <div className="help-table" tabIndex={0}>
      <table>{children}</table>
    </div>
  );
}
