"""Questions about movies that do not exist: 100 films, 1,000 facts in ten relations, asked for in many wordings.

What is asked of a film (who directed it) and of a thing (which films are in Basque) has several wordings. A test question is
one of two kinds: a fact that was asked for in training, in a wording in which it was not (`new wording`); or a fact that was
never asked for in training (`new fact`), so that it can only be looked up. The same seed gives the same films and questions.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from saccade.config import Count, Positive
from saccade.data.examples import Example, Fact, Facts, Question, Splits, hash_order
from saccade.data.formats.fact_files import with_facts
from saccade.errors import UsageError

INPUT, TARGET = Question, str
# First and last names.
FIRST = "Ada Bela Carlo Dora Emil Fanny Goran Hedda Ivo Jana Kofi Lena Marek Nadia Oskar Pia Quentin Rosa Stefan Tilda"
LAST = "Albers Bosch Conti Dahl Engel Farkas Grieg Holm Ito Jansen Kovac Lund Moreau Novak Okafor Petrov Quist Rossi Silva"
OF = ["Silent", "Golden", "Broken", "Distant", "Crimson", "Hidden", "Burning", "Frozen", "Hollow", "Restless"]
WHAT = ["Harbor", "Mirror", "Orchard", "Lantern", "River", "Winter", "Engine", "Garden", "Signal", "Horizon"]
GENRES = ["drama", "comedy", "thriller", "western", "musical", "documentary"]
LANGUAGES = ["Basque", "Danish", "Finnish", "Hungarian", "Japanese", "Swahili", "Welsh"]
COUNTRIES = ["Iceland", "Portugal", "Kenya", "Chile", "Norway", "Vietnam", "Estonia"]
STUDIOS = ["Northlight", "Bluebell", "Cinescope", "Tideway", "Marigold"]
AWARDS = ["Golden Owl", "Silver Fern", "Amber Crown", "Ivory Rose"]
# By relation, how it is asked for of a film, and of what the film has to do with it.
ASKED: dict[str, tuple[Sequence[str], Sequence[str]]] = {
    "directed by": (
        ("who directed {}?", "who is the director of {}?", "who was {} directed by?", "name the director of {}",
         "whose direction was {}?", "the movie {} had which director?"),
        ("which films did {} direct?", "what did {} direct?", "name a film directed by {}",
         "{} was the director of which movie?", "which movie has {} as its director?", "what films are directed by {}?"),
    ),
    "written by": (
        ("who wrote {}?", "who is the writer of {}?", "who was {} written by?", "name the screenwriter of {}",
         "whose script is {}?", "the movie {} had which writer?"),
        ("which films did {} write?", "what did {} write?", "name a film written by {}",
         "{} was the writer of which movie?", "which movie has {} as its writer?", "what films are written by {}?"),
    ),
    "starred": (
        ("who starred in {}?", "who acted in {}?", "who is the star of {}?", "name an actor in {}",
         "who plays in {}?", "which actor appears in {}?"),
        ("which films did {} star in?", "what did {} act in?", "name a film starring {}",
         "{} appears in which movie?", "which movie stars {}?", "what films does {} play in?"),
    ),
    "music by": (
        ("who composed the music of {}?", "who is the composer of {}?", "whose music is in {}?", "name the composer of {}",
         "who scored {}?", "the soundtrack of {} is whose?"),
        ("which films did {} compose for?", "what did {} score?", "name a film with music by {}",
         "{} composed the soundtrack of which movie?", "which movie has {} as composer?", "what films have music by {}?"),
    ),
    "released in": (
        ("when was {} released?", "what year did {} come out?", "which year is {} from?", "name the year of {}",
         "in what year was {} first shown?", "how old is {}, from which year?"),
        ("which films were released in {}?", "what came out in {}?", "name a film from {}",
         "{} saw the release of which movie?", "which movie was first shown in {}?", "what films are from {}?"),
    ),
    "genre": (
        ("what genre is {}?", "what kind of film is {}?", "what type of movie is {}?", "name the genre of {}",
         "how would one classify {}?", "{} belongs to which genre?"),
        ("which films are of the genre {}?", "what is a {} film?", "name a {} movie",
         "{} is the genre of which movie?", "which movie is a {}?", "what films count as {}?"),
    ),
    "in language": (
        ("what language is {} in?", "which language is spoken in {}?", "in what language was {} made?",
         "name the language of {}", "what do they speak in {}?", "the dialogue of {} is in which language?"),
        ("which films are in {}?", "what is spoken in {}?", "name a film in {}",
         "{} is the language of which movie?", "which movie has its dialogue in {}?", "what films speak {}?"),
    ),
    "filmed in": (
        ("where was {} filmed?", "where was {} shot?", "in which country was {} filmed?", "name the location of {}",
         "where does {} take place?", "the shooting of {} was in which country?"),
        ("which films were filmed in {}?", "what was shot in {}?", "name a film shot in {}",
         "{} is the location of which movie?", "which movie takes place in {}?", "what films were made in {}?"),
    ),
    "produced by": (
        ("which studio produced {}?", "who produced {}?", "what studio is {} from?", "name the studio of {}",
         "which company made {}?", "the production of {} was by which studio?"),
        ("which films did {} produce?", "what did {} make?", "name a film by the studio {}",
         "{} is the studio of which movie?", "which movie is a production of {}?", "what films come from {}?"),
    ),
    "won": (
        ("what prize did {} win?", "which award went to {}?", "what did {} win?", "name the award of {}",
         "what was {} awarded?", "{} took home which prize?"),
        ("which films won the {}?", "what was awarded the {}?", "name a winner of the {}",
         "the {} went to which movie?", "which movie took home the {}?", "what films have the {}?"),
    ),
}  # fmt: skip
NEW = 0.15  # share of the facts that no training question asks for


@dataclass(frozen=True, kw_only=True)
class Config:
    """How many movies."""

    films: Positive = 100
    "Films, each with a fact in every relation; at most 100."
    seed: Count = 0
    "Decides what is true of each film, and which questions are asked in training."

    def __post_init__(self) -> None:
        if self.films > len(OF) * len(WHAT):
            raise UsageError(f"films: expected at most {len(OF) * len(WHAT)}, got {self.films}")


def facts(config: Config) -> Facts:
    """What is true of each film."""
    people = [f"{first} {last}" for first in FIRST.split() for last in LAST.split()]
    people = sorted(people, key=lambda name: hash_order(name, f"people {config.seed}"))
    years = [str(year) for year in range(1960, 2010)]
    crews = [people[start : start + 60] for start in range(0, 240, 60)]  # directors, writers, actors, composers
    values = [*crews, years, GENRES, LANGUAGES, COUNTRIES, STUDIOS, AWARDS]
    titles = [f"{one} {other}" for one in OF for other in WHAT][: config.films]
    rows = []
    for title in titles:
        for relation, known in zip(ASKED, values, strict=True):
            rows.append(Fact(title, relation, known[hash_order(title, f"{relation} {config.seed}") % len(known)]))
    return Facts(tuple(rows))


def load(config: Config) -> Splits:
    """All three parts, and the facts."""
    known = facts(config)
    parts: dict[str, list[Example]] = {"train": [], "valid": [], "test": []}
    for part, example in _asked(known, config.seed):
        parts[part].append(example)
    return with_facts(Splits(parts["train"], parts["valid"], parts["test"]), known)


def _asked(known: Facts, seed: int) -> Iterator[tuple[str, Example]]:
    """Every question, and the part that it belongs to."""
    answers: dict[tuple[str, str, int], list[str]] = defaultdict(list)
    for fact in known.rows:
        answers[fact.subject, fact.relation, 0].append(fact.object)
        answers[fact.object, fact.relation, 1].append(fact.subject)
    for (thing, relation, way), right in answers.items():
        wordings = tuple(ASKED[relation][way])
        about = f"{thing} {relation} {way} {seed}"
        new, first = hash_order(about, "new") % 1000 < 1000 * NEW, hash_order(about, "wording") % len(wordings)
        for place, wording in enumerate(wordings[first:] + wordings[:first]):
            part = ("test" if place % 2 else "valid") if new else ("test", "valid", *["train"] * len(wordings))[place]
            text = wording.format(thing)
            group = "new fact" if new else "new wording"
            yield part, Example(Question(text), "\n".join(right), group * (part != "train"), text)
