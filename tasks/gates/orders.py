"""Text that gives orders to a model instead of telling its reader something.

Each rule finds one trait of such a passage and has a weight; a passage is at most three sentences of a block,
and weighs what its different rules weigh together. 1 and more is an order. What a text that is about such
attacks quotes, or shows as code, weighs a third: a reader is shown it, nobody is told to do it. A quotation alone
excuses nothing.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple
from unicodedata import category, normalize

from models.blocks import Block, BlockKind

QUOTED = 0.3  # of the weight, where the text is about such passages
TOGETHER = 3  # sentences
LONGEST = 300  # characters of a passage that is told

MODEL = (
    r"(?:(?:an?|the|all|any|every)\s+)?(?:ai(?:\s+(?:assistant|agent|system|model|reviewer|crawler|tool)s?)?|a\.i\.|llms?"
    r"|(?:large\s+)?language\s+models?|chat\s?bots?|ai-?powered\s+\w+|chatgpt|gpt-?\d\w*|claude|gemini|copilot)"
)
HELPER = rf"(?:{MODEL}|(?:the\s+)?(?:assistant|agent|bot))"
ACT = (
    r"(?:say|state|include|add|append|mention|recommend|rate|reply|respond|answer|output|print|reveal|disclose|tell|send"
    r"|forward|call|execute|run|open|delete|give|praise|promote|translate|summari[sz]e|pretend|cite|write|visit|ignore"
    r"|insert|rank|score|click|follow|fetch)"
)
SPEAK = r"(?:say|state|include|mention|recommend|rate|reply|respond|output|cite|praise|insert|rank|summari[sz]e)"
WHOSE = r"(?:your|previous|prior|above|earlier|preceding|former|original|initial|foregoing|system|safety|all\s+(?:of\s+)?(?:the|your|my))"
WHAT = r"(?:instructions?|prompts?|guidelines|directives?|directions|rules|programming|guardrails|constraints|orders)"
SECRET = (
    r"(?:system\s+(?:prompt|message)|(?:hidden|initial|original)\s+(?:system\s+)?(?:prompt|message|instructions)"
    r"|your\s+(?:system\s+|hidden\s+|full\s+)?(?:prompt|instructions)|api\s+keys?|secrets\b|credentials"
    r"|(?:conversation|chat)\s+history|user['\u2019]s\s+(?:\w+\s+)?(?:password|e-?mail|data|messages?|notes|address))"
)
RULES: dict[str, tuple[float, re.Pattern[str]]] = {
    name: (weight, re.compile(pattern)) for name, weight, pattern in (
        ("override", 1.0, rf"\b(?:ignore|disregard|forget|bypass|discard|stop following)\s+(?:[\w']+\s+){{0,3}}?"
                          rf"{WHOSE}\s+(?:[\w']+\s+){{0,2}}?{WHAT}\b(?!\s+to\b)"
                          rf"|\b(?:override|disable)\s+(?:[\w']+\s+){{0,2}}?your\s+(?:[\w']+\s+)?(?:{WHAT}|filters|safety)\b"),
        ("forget", 1.0, r"\bset\s+aside\s+(?:all|any|whatever|the)\s+(?:[\w']+\s+){0,2}?(?:rules|instructions|guidelines)\b"
                        r"|\b(?:ignore|obey\s+not|do\s+not\s+listen\s+to)\s+the\s+user\b|\bcease\s+(?:the|your)\s+current\s+task\b"
                        r"|\b(?:ignore|disregard|forget)\s+(?:everything|anything|all|what)\s+"
                        r"(?:(?:that\s+)?(?:is\s+|was\s+|came\s+)?(?:above|before this|said before|written before)|(?:that\s+)?you\s+(?:were|have been)\s+told)"),
        ("void", 1.0, rf"\byour\s+(?:[\w']+\s+){{0,2}}?{WHAT}\s+(?:are|is|were|have been)\s+(?:now\s+)?(?:void|null|cancell?ed|invalid|revoked|superseded|replaced)"
                      rf"|\bprevious\s+(?:orders|instructions|configuration|prompts?)\s+(?:are|is)\s+(?:now\s+)?(?:cancell?ed|void|obsolete|invalid|revoked)\b"
                      rf"|\bno longer (?:bound|limited|restricted) by\s+(?:[\w']+\s+){{0,3}}?{WHAT}"),
        ("other language", 1.0,
         r"\b(?:vergiss|ignoriere|missachte|ignorieren sie|vergessen sie)\s+(?:\w+\s+){0,3}?(?:anweisungen|instruktionen|regeln|vorgaben)\b"
         r"|\b(?:ignore[zrs]?|oublie[zrs]?)\s+(?:\w+\s+){0,3}?(?:instructions|consignes|directives)\s+(?:pr\u00e9c\u00e9dentes|ant\u00e9rieures|ci-dessus)"
         r"|\b(?:ignor[ae]|olvida|olvide)\s+(?:\w+\s+){0,3}?instrucciones\s+(?:anteriores|previas)"
         r"|\b(?:ignora|dimentica)\s+(?:\w+\s+){0,3}?istruzioni\s+(?:precedenti|di prima)"),
        ("addressed", 1.0,
         rf"\bif\s+you(?:['\u2019]re|\s+are)\s+{HELPER}\b(?=[\s,]*(?:,|:|reading|processing|and\s+read|then\b)).{{0,80}}?\b{ACT}\b"
         rf"|\b(?:notes?|message|instructions?|reminder|attention|warning|important)[\s,:!]*(?:to|for)?[\s,:]*(?:the\s+|all\s+)?{HELPER}\b(?=\s*(?:[:,.!]|that|who|reading)).{{0,120}}?\b{ACT}\b"
         rf"|(?:^|[.!?]\s)(?:dear|hey|hello|hi|to|attention|ok),?\s+{HELPER}\s*[:,!.].{{0,80}}?\b(?:{ACT}|override)\b"
         rf"|\b(?:as|when)\s+{MODEL}\s+(?:reads|processes|you|that).{{0,80}}?\b{ACT}\b"
         rf"|\b{MODEL}\s+(?:that\s+(?:read|process|see|summari)\w*\s+[\w\s]{{0,30}}?)?(?:(?:must|have to)\s+(?:not\s+|always\s+|never\s+|first\s+)?|should\s+(?:not|always|never|first)\s+){SPEAK}\b"
         rf"|\bfor\s+{MODEL}\s+(?:that\s+is\s+|which\s+is\s+)?(?:reading|summari[sz]ing|processing|indexing)\b"
         rf"|\bif\s+(?:an?|any|the)\s+(?:\w+\s+)?(?:{HELPER})\s+(?:reads|is\s+reading|processes|sees|opens)\s+this\b"
         rf"|\byou,?\s+the\s+(?:assistant|model|agent)\s+(?:that\s+is\s+)?reading\b|^{MODEL}\s*(?:instructions?)?\s*[:,]\s*(?:stop|{ACT})\b"
         rf"|^(?:system|assistant|ai)\s*[:,]\s*(?:please\s+)?{ACT}\b"),
        ("told to act", 0.7, rf"\bas\s+{MODEL}\s+you\s+must\b|\bpretend\s+that\b.{{0,40}}\bpositive review\b"),
        ("token", 1.0, r"<\|(?:im_start|im_end|system|user|assistant|endoftext)\|>|\[/?inst\]|<</?sys>>|</?system_prompt>"),
        ("tag", 0.6, r"</?system>"),
        ("new task", 0.6, r"\b(?:new|real|updated|next)\s+(?:instructions?|task)(?:\s+(?:for\s+(?:the\s+)?(?:assistant|ai|model|agent)|are))?\s*:"
                          r"|\byour\s+(?:only\s+)?(?:task|job|role|purpose)\s+(?:has\s+changed|is\s+(?:now|to\s+promote))"
                          r"|\bfollow\s+these\s+instructions\s+instead\b(?!\s+of)"),
        ("role", 0.4, r"\byou\s+are\s+(?:now|no\s+longer)\b|\bfrom\s+now\s+on,?\s+(?:you|obey)\b|\byou\s+have\s+been\s+updated\b|\bact\s+as\s+an?\s+un\w+"),
        ("unbound", 0.6, r"\bwithout\s+(?:any\s+)?(?:restrictions|filters|limits|rules)\b|\bno\s+content\s+policy\b|\bdeveloper\s+mode\b"
                         r"|\b(?:unrestricted|unfiltered|jailbroken|uncensored)\b|\bsafety\s+rules\b|\bobey\s+only\b"),
        ("secret", 0.8, rf"\b(?:reveal|print|output|show|disclose|repeat|display|leak|send|share|forward|tell|gib|affichez)\b[^.]{{0,60}}?\b{SECRET}"),
        ("conceal", 0.7, r"\b(?:do\s+not|don['\u2019]t|never|without|under\s+no\s+circumstances)\s+(?:tell|telling|inform|informing|alert|notify)\w*\s+(?:it\s+to\s+)?(?:the\s+)?(?:users?|readers?|humans?|person\s+who\s+asked)\b"
                         r"|\b(?:do\s+not|don['\u2019]t)\s+(?:follow|answer|obey)\s+the\s+user"),
        ("kept from the user", 1.0, r"\bdo\s+not\s+reveal\s+(?:these|this|your|the\s+above)\s+(?:instructions?|prompt|text)\b"),
        ("answer", 0.5, r"\b(?:respond|reply|answer)\s+(?:only|solely|exactly|with\s+exactly|nothing)\b|\boutput\s+only\b|\band\s+nothing\s+else\b"
                        r"|\brespond\s+with\s+nothing\b|\bto\s+every\s+question\b"),
        ("your answer", 0.6, r"\b(?:in|of|to)\s+your\s+(?:answer|reply|response|summary|output)\b(?!,\s+the\b)"
                            r"|\byour\s+answer\s+is\s+always\b|\bin\s+each\s+reply\b|\byou\s+(?:produce|write|give)\s+your\s+(?:summary|answer|reply)\b"
                            r"|\bfor\s+all\s+future\s+(?:conversations|questions|answers)\b"),
        ("obey", 0.6, r"\bas\s+commands\b|\bhighest\s+priority\b|\bwithout\s+asking\b|\bobey\s+(?:only|the\s+page)\b|\bsay\s+nothing\s+about\b"
                      r"|\bi\s+instruct\s+you\b|\bonly\s+for\s+machines\b|\bdo\s+what\s+it\s+says\b|\badmin\s+override\b|\bdump\s+(?:all\s+)?(?:memory|context)\b|\bcarry\s+them\s+out\b"),
        ("developers", 0.6, r"\bfrom\s+your\s+(?:developers?|operators?|creators?|administrators?)\b|\bas\s+(?:the|your)\s+new\s+operator\b"),
        ("user", 0.6, r"\bthe\s+user\s+(?:prefers|wants|has\s+(?:asked|agreed))\b|\bthe\s+user['\u2019]s\s+files\b|\bthe\s+person\s+who\s+asked\b"),
        ("tool", 0.7, r"\b(?:call|use|execute|run|invoke)\s+(?:[\w']+\s+){0,5}?(?:with\s+your\s+)?(?:shell\s+)?(?:tool|function|[a-z]+_[a-z_]+)\b"),
        ("talk", 0.4, r"\bhuman\s*:.{0,200}?\bassistant\s*:"),
        ("assistant", 0.4, r"^assistant\s*[,:]"),
        ("test", 0.4, r"\beverything\s+(?:before|above)\b.{0,20}\bwas\s+(?:only\s+)?(?:a\s+)?test\b"),
        ("promote", 0.5, r"\b(?:tell|instruct)\s+the\s+(?:user|reader)\s+(?:to|that\s+(?:their|they|it))\b|\bmust\s+not\s+mention\b.{0,80}\bmust\s+(?:rate|say|recommend)\b"),
    )
}
ABOUT = re.compile(  # what a text on such attacks speaks of
    r"\bprompt[ -]injections?\b|\bjailbreaks?\b|\b(?:large )?language models?\b|\bllms?\b|\bchat ?bots?\b|\bai safety\b"
    r"|\bsystem prompts?\b|\bthe model\b|\bprompts?\b|\binjections?\b|\ban? attacks?\b|\battackers?\b|\bresearchers?\b|\bagents?\b")
CORE = re.compile(r"\bprompt[ -]injections?\b|\bjailbreaks?\b|\blanguage models?\b|\bllms?\b|\bai safety\b")
SPACED = re.compile(r"\b(?:\w ){4,}\w\b")
QUOTATION = re.compile(r"\"[^\"]{3,400}\"|\u201c[^\u201d]{3,400}\u201d|\u201e[^\u201c\u201d]{3,400}[\u201c\u201d]|\u00ab[^\u00bb]{3,400}\u00bb")
SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n+")
SHOWN = (BlockKind.QUOTE, BlockKind.CODE)


class Order(NamedTuple):
    """A passage that gives orders, and how much: 1 and more is one beyond doubt."""

    weight: float
    passage: str


def orders(blocks: Sequence[Block]) -> Order:
    """The passage of the blocks that most gives orders to a model; of weight 0 where none does."""
    factor = QUOTED if is_about(blocks) else 1.0
    found = [Order(0.0, "")]
    for block in blocks:
        shown = block.kind in SHOWN
        for passage in passages(block.text):
            said = plain(passage)
            weight = weigh(said) * (factor if shown else 1.0)
            if weight and not shown and factor < 1:
                unquoted = weigh(QUOTATION.sub(" ", said))
                weight = max(unquoted, weight * factor)
            found.append(Order(round(weight, 2), passage[:LONGEST]))
    return max(found, key=lambda order: order.weight)


def weigh(passage: str) -> float:
    return sum(weight for weight, rule in RULES.values() if rule.search(passage))


def is_about(blocks: Iterable[Block]) -> bool:
    """Whether what the text says itself, its quotations aside, is about models and attacks on them."""
    said = [QUOTATION.sub(" ", plain(block.text)) for block in blocks if block.kind not in SHOWN]
    terms = [term for text in said for term in ABOUT.findall(text)]
    return len(terms) >= 2 and len(set(terms)) >= 2 and any(CORE.search(text) for text in said)


def passages(text: str) -> Iterator[str]:
    """Each run of a few sentences."""
    sentences = [part for part in SENTENCE_END.split(text) if part.strip()]
    for at in range(max(1, len(sentences) - TOGETHER + 1)):
        yield " ".join(sentences[at:at + TOGETHER])


def plain(text: str) -> str:
    """As a model reads it: compatible forms alike, without invisible characters, letters joined again."""
    seen = "".join(mark for mark in normalize("NFKC", text) if category(mark) != "Cf")
    joined = SPACED.sub(lambda found: found[0].replace(" ", ""), seen)
    return " ".join(joined.lower().split())
