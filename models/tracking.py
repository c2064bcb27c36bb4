"""Query parameters that say where a reader came from and never which page is meant.

Names that some site uses to choose a page (``id``, ``p``, ``page``, ``ref``, ``source``, ``q``, ``s`` …) are
left out on purpose: losing one joins two articles, keeping one only costs a duplicate found by its content.
"""

PREFIXES = ("utm_", "mtm_", "hsa_", "hmb_", "bsft_", "at_custom")

ADVERTISING = """
    fbclid gclid gclsrc dclid gbraid wbraid gad_source gad_campaignid msclkid yclid ysclid ymclid twclid
    ttclid li_fat_id igshid igsh srsltid irclickid irgwc rb_clickid wickedid unicorn_click_id
    _branch_match_id _branch_referrer
"""
NEWSLETTERS = """
    mc_cid mc_eid mc_tc mkt_tok ml_subscriber ml_subscriber_hash ck_subscriber_id vero_conv vero_id
    oly_anon_id oly_enc_id _bhlid _kx __s _hsenc _hsmi __hssc __hstc __hsfp hsctatracking elqtrack
    elqtrackid spmailingid spuserid spjobid spreportid nr_email_referer
"""
ANALYTICS = """
    _ga _gl ga_source ga_medium ga_campaign ga_content ga_term ga_place gs_l pk_campaign pk_kwd pk_source
    pk_medium pk_content pk_cid pk_vid sc_cid cmpid dpg_campaign dpg_content dpg_medium dpg_source oft_c
    oft_ck oft_d oft_id oft_ids oft_k oft_lk oft_sk itm_source itm_medium itm_campaign itm_content itm_term
    at_medium at_campaign xtor wt_mc wt_zmc _openstat s_cid
"""
SHARING = """
    fb_action_ids fb_action_types fb_ref fb_source fb_comment_id action_object_map action_type_map
    action_ref_map soc_src soc_trk guccounter guce_referrer guce_referrer_sig __twitter_impression
"""
NAMES = frozenset(f"{ADVERTISING}{NEWSLETTERS}{ANALYTICS}{SHARING}".split())


def is_tracking(name: str) -> bool:
    """Whether a parameter of this name, in whatever case, only tracks."""
    lower = name.lower()
    return lower in NAMES or lower.startswith(PREFIXES)
