"""Invoices and credit notes: numbers without gaps, frozen content, and a PDF that is drawn from it on demand.

content    what a document says
services   issue a document, in the transaction that pays or refunds; remove old ones
backlog    issue the documents of orders from before the first invoice
selectors  the documents of an order
pdf        draw a document
views      downloads of readers and, behind a signed link, of guests
"""
