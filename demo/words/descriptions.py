"""The descriptions of the books of the generated catalogue."""

from typing import Final

# Sentences about the books of a genre, by its first tag: an opening, a turn and a close. {t} is the short title.
DESCRIPTIONS: Final[dict[str, tuple[tuple[str, ...], ...]]] = {
    "fantasy": (
        (
            "An oath older than the kingdom wakes on the night of the first snow.",
            "The map ends at a gate that only children can see.",
            "A glassmaker inherits a lantern that shows other people's promises.",
        ),
        (
            "To keep it, three strangers have to trust a wyrm.",
            "The road there leads through a drowned city and a very long winter.",
            "Those who would rule must first learn what the crown costs.",
        ),
        (
            "“{t}” is a slow, warm tale about found families.",
            "A story of courage for readers who like their magic quiet.",
            "With a map and a list of names.",
        ),
    ),
    "science-fiction": (
        (
            "The signal repeats every nineteen hours, and it is getting shorter.",
            "On the last supply ship to the colony, somebody has the wrong name.",
            "A repair crew wakes a century too late.",
        ),
        (
            "Between the engine room and the archive, one engineer pieces the message together.",
            "What follows is a trial in which the machine is the witness.",
            "Each answer moves the horizon further away.",
        ),
        (
            "“{t}” asks what we owe to those who come after us.",
            "Hard science, dry humour and a good ending.",
            "A novel about distance.",
        ),
    ),
    "mystery": (
        (
            "Nobody in the village locks a door until the vicar's ledger disappears.",
            "The tenant on the third floor has been dead for a week, and yet the rent arrives.",
            "A letter comes forty years late.",
        ),
        (
            "A retired locksmith sees what the police do not want to see.",
            "Everyone has an alibi, and two of them are the same.",
            "The clues are all there, on page one.",
        ),
        (
            "“{t}” plays fair to the last chapter.",
            "A puzzle for a rainy weekend.",
            "The first case of an unlikely pair.",
        ),
    ),
    "romance": (
        (
            "She repairs violins; he cannot bear music.",
            "Two rival bakers share one oven for a summer.",
            "The wedding is off, but the guests are already on the train.",
        ),
        (
            "A wrong delivery begins a correspondence.",
            "Neither of them planned to stay in town.",
            "Their friends have a bet, and everybody knows it but them.",
        ),
        (
            "“{t}” is tender, funny and patient with its people.",
            "For readers who like a slow burn.",
            "A comedy of second chances.",
        ),
    ),
    "historical-fiction": (
        (
            "In the year of the great frost a printer hides a page that could hang him.",
            "A cartographer is sent to measure a coast that two empires claim.",
            "The widow sells the salt works and keeps the boats.",
        ),
        (
            "Letters, ledgers and one song tell what happened next.",
            "War comes slowly, and then all at once.",
            "Her daughter will spend a life finding out why.",
        ),
        (
            "“{t}” brings a forgotten port to life.",
            "A broad novel about small decisions.",
            "With a note on the sources.",
        ),
    ),
    "horror": (
        (
            "The choir practises at three in the morning, and the church burned down long ago.",
            "There is one room more in the house than on the plan.",
            "The harvest was good, which is how they knew.",
        ),
        (
            "The caller knows the children by name.",
            "What is in the cellar has learned to be polite.",
            "Those who sleep hear it first.",
        ),
        ("“{t}” is best read by daylight.", "Quiet dread instead of gore.", "Short, cold and hard to forget."),
    ),
    "programming": (
        (
            "A workbook in twelve chapters, each with a program that you can run.",
            "Most books show how a system works; this one shows how it fails.",
            "For people who can program and want to understand what they use.",
        ),
        (
            "Each idea is built twice: first in the obvious way, then in the one that lasts.",
            "The examples grow from ten lines to a small service with tests.",
            "Exercises have answers, and the answers have reasons.",
        ),
        (
            "“{t}” needs no more than a terminal.",
            "With an index worth reading.",
            "The second edition corrects all known errors.",
        ),
    ),
    "science": (
        (
            "It is under our feet and over our heads, and we hardly look at it.",
            "Ten walks, ten questions, and a notebook.",
            "A scientist looks back on forty years with one subject.",
        ),
        (
            "The author explains the measurements and admits the doubts.",
            "Drawings show what no photograph can.",
            "Each chapter begins with a mistake that taught us something.",
        ),
        (
            "“{t}” leaves you looking twice.",
            "Clear enough for the curious, exact enough for experts.",
            "With suggestions for your own observations.",
        ),
    ),
    "biography": (
        (
            "A life between two harbours, told from letters and one unreliable diary.",
            "The first job was an accident; the second one made history.",
            "Fame came late and did not stay.",
        ),
        (
            "Friends, rivals and a very patient sister have their say.",
            "Much of it was never meant to be printed.",
            "The book follows the work, and lets the gossip go.",
        ),
        (
            "“{t}” is a fair portrait of a difficult person.",
            "With photographs and a list of works.",
            "Honest, brief and often funny.",
        ),
    ),
    "cooking": (
        (
            "Recipes for weekdays, with what the market has.",
            "One hundred ways with very little.",
            "Bread takes time, and most of it is waiting.",
        ),
        (
            "Each recipe says what may go wrong and how to save it.",
            "Quantities are for four, and for one.",
            "No special tools are needed, but a good pan helps.",
        ),
        ("“{t}” is a book that gets stains.", "With menus for each season.", "Cook from it twice, then leave it shut."),
    ),
    "children": (
        (
            "It is late, and somebody small is still awake.",
            "The goose has a plan, and the plan has a hole.",
            "Grandmother's tram goes everywhere, if you ask it nicely.",
        ),
        (
            "On the way there are puddles, a library and a very polite walrus.",
            "Everyone helps, even the snail.",
            "There is something hidden in each picture.",
        ),
        ("“{t}” is for reading aloud.", "For ages three and up.", "Good night."),
    ),
    "poetry": (
        (
            "Poems about rivers, doors and the light in October.",
            "Sixty short pieces, few of them about love.",
            "The songs were sung before they were written.",
        ),
        (
            "The lines are plain, and stay with you.",
            "Each poem answers the one before it.",
            "The translation keeps the rhythm and lets the rhyme go.",
        ),
        ("“{t}” fits into a coat pocket.", "With the original on the facing page.", "To be read slowly."),
    ),
    "小说": (
        ("雪夜，客栈里来了一位没有名字的人。", "一封旧信，改变了三代人的命运。", "茶馆的灯还亮着，说书人却不见了。"),
        ("故事从这里开始，也在这里结束。", "真相藏在一本没有人读过的剑谱里。", "离开的人终究要回来。"),
        ("《{t}》写的是寻常人家的悲欢。", "适合一个人慢慢读。", "一部关于记忆的小说。"),
    ),
}
